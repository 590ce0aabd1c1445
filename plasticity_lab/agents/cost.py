"""What a run costs before it starts: all that planning knows of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Share:
    """A part of a run's memory.

    what: in words, as in "most of it for images". smaller: what would make it smaller, as in "fewer benchmark.images".
    """

    bytes: int
    what: str
    smaller: str


@dataclass(frozen=True)
class Cost:
    """What one run costs.

    length: in the benchmark's `unit`, as journal and progress count it. updates: of its network; the mode follows from
    them. flops: operations of one update in matrix products and convolutions. memory: bytes on the device, by what they
    are for. speed: the yardstick of its agent's that it is priced by. rows: of its metrics. parameters: of its network.
    host_memory: bytes beside the device's. forwards, forward_flops: passes through the network without an update, and
    operations of one. host_steps: environment → its steps. graphs: how many are compiled for it. bulk_bytes: of what
    its learner gives as `bulk`, when that is full; they are part of the memory where it lies. statistics: bytes of each
    tensor that `Agent.statistics` keeps of a run. epochs: how many end, or of what an agent has in their place; each is
    one of the rows. looks: of diagnostics, in passes of `look_flops` operations each. looked: numbers that they leave.
    left_out: diagnostics that have nothing to measure in its network, and so no columns.
    kernels: whether kernels of our own serve its updates, on a CPU. kernel_parts: the parts of the kernels that an
    update calls, if kernels serve it.
    """

    length: int
    unit: str
    updates: int
    flops: int
    memory: Sequence[Share]
    speed: str
    rows: int
    parameters: int
    host_memory: Sequence[Share] = ()
    forwards: int = 0
    forward_flops: int = 0
    host_steps: Mapping[str, int] = field(default_factory=dict)
    graphs: int = 1
    kernels: bool = False
    kernel_parts: Sequence[str] = ()
    bulk_bytes: int = 0
    statistics: Sequence[int] = ()
    epochs: int = 0
    looks: float = 0.0
    look_flops: int = 0
    looked: int = 0
    left_out: Sequence[str] = ()

    @property
    def device_bytes(self) -> int:
        """Bytes on the device, all parts together."""
        return sum(share.bytes for share in self.memory)

    @property
    def host_bytes(self) -> int:
        """Bytes on the host besides, all parts together."""
        return sum(share.bytes for share in self.host_memory)


# What a kind of device is measured by: small workloads of an agent, from which plans estimate times and widths.


class TimedPack(Protocol):
    """A pack whose updates can be timed."""

    @property
    def updates(self) -> int:
        """Of each run in one burst."""
        ...

    def burst(self) -> object:
        """Takes the updates and does nothing besides; returns when all is computed."""
        ...


class Yardstick(Protocol):
    """A workload."""

    @property
    def name(self) -> str:
        """As `Cost.speed` says it; no other agent's yardstick has it."""
        ...

    @property
    def description(self) -> str:
        """In words, for the command that measures."""
        ...

    @property
    def cost(self) -> Cost:
        """Of one of its runs."""
        ...

    @property
    def widths(self) -> Mapping[str, Sequence[int]]:
        """The packs that are timed, by type of device ("cpu", "cuda")."""
        ...

    def shortened(self, updates: int) -> "Yardstick":
        """The same with bursts of that many updates: for a first try, or a busy machine."""
        ...

    def pack(self, width: int, mode: str, device: str) -> TimedPack:
        """A pack of that width in that mode ("eager", "compiled"), ready to be timed."""
        ...

    def peak(self, width: int, device: str) -> None:
        """Does with an eager pack of that width what takes the most memory of a GPU: a burst and an evaluation."""
        ...
