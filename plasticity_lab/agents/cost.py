"""The cost of a run, known before it starts. Plans are made from this information alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Share:
    """A part of a run's memory.

    what: its contents, in words, as in "most of it for images".
    smaller: a way to reduce it, as in "fewer benchmark.images".
    """

    bytes: int
    what: str
    smaller: str


@dataclass(frozen=True)
class Cost:
    """The cost of one run.

    length: in the benchmark's `unit`, as counted by journal and progress.
    unit: unit of `length`.
    updates: updates of its network. The execution mode is chosen by this number.
    flops: operations in matrix products and convolutions of one update, and operations of its optimizer beyond Adam's.
    memory: bytes on the device, one `Share` per purpose.
    speed: name of the yardstick that decides its mode and its pack's width.
    priced_as: name of the shipped figures that its time is estimated from; empty: the figures of `speed`.
    rows: rows of its metrics.
    parameters: parameters of its network, including frozen ones.
    host_memory: bytes on the host, in addition to the device memory.
    forwards, forward_flops: forward passes without an update, and operations of one.
    passes, pass_flops: forward and backward passes without a step, always eager, and operations of one.
    pass_runs: number of networks in one of these passes.
    host_steps: environment → its steps.
    host_calls: environment → calls that step all environments of a pack; without an entry as many as its steps.
    graphs: number of graphs compiled for it. The graphs of a supervised step and of its evaluation count as one.
    graphs_by_kernels: the same number if our kernels compute it; None: `graphs`. A share of a graph counts as a share.
    graph_size, graph_size_by_kernels: time to compile each of them, relative to the smallest of the agent, without our
        kernels and with them.
    kernels: whether our own kernels compute its updates, on a CPU.
    kernel_parts: the parts of the kernels that an update calls, if kernels compute it.
    hindrance: the config group that makes each call of the kernels take one step; None if a call takes many.
    frames_bytes: bytes of the frames in a replay memory, which a GPU holds too if they fit (`frames_fit`). They are not
        part of `memory`, since the run is trained without them as well.
    bulk_bytes: bytes of the learner's `bulk` when full. They are included in the memory of the device or host that
        holds them.
    statistics: bytes of each tensor that `Agent.statistics` stores for a run.
    epochs: number of epochs that end, or of their equivalent in other agents. Each is one of the rows.
    looks: number of measurements by diagnostics, in forward passes of `look_flops` operations each.
    look_flops: operations of one such pass.
    looked: numbers that diagnostics record.
    left_out: diagnostics that have nothing to measure in its network, and therefore no columns.
    """

    length: int
    unit: str
    updates: int
    flops: int
    memory: Sequence[Share]
    speed: str
    rows: int
    parameters: int
    priced_as: str = ""
    host_memory: Sequence[Share] = ()
    forwards: int = 0
    forward_flops: int = 0
    passes: int = 0
    pass_flops: int = 0
    pass_runs: int = 1
    host_steps: Mapping[str, int] = field(default_factory=dict)
    host_calls: Mapping[str, int] = field(default_factory=dict)
    graphs: int = 1
    graphs_by_kernels: float | None = None
    graph_size: float = 1.0
    graph_size_by_kernels: float = 1.0
    kernels: bool = False
    kernel_parts: Sequence[str] = ()
    hindrance: str | None = "agent"
    frames_bytes: int = 0
    bulk_bytes: int = 0
    statistics: Sequence[int] = ()
    epochs: int = 0
    looks: float = 0.0
    look_flops: int = 0
    looked: int = 0
    left_out: Sequence[str] = ()

    @property
    def device_bytes(self) -> int:
        """Bytes on the device, sum of all parts."""
        return sum(share.bytes for share in self.memory)

    @property
    def host_bytes(self) -> int:
        """Additional bytes on the host, sum of all parts."""
        return sum(share.bytes for share in self.host_memory)


FRAMES_SHARE = 0.75
"""The share of a worker's free memory on a GPU that frames may take; a margin is left for tests and diagnostics."""


def frames_fit(frames_bytes: int, free: int) -> bool:
    """Whether the frames of a pack's replay memory are held on its GPU too, which changes no number.

    free: bytes that the worker may use there, without the networks, a batch and everything between layers.
    """
    return frames_bytes <= FRAMES_SHARE * free


# Small workloads of an agent that are timed on a device. Plans estimate times and pack widths from the results.


class TimedPack(Protocol):
    """A pack to time: it can take updates in bursts."""

    @property
    def updates(self) -> int:
        """Updates of each run in one burst."""
        ...

    def burst(self) -> object:
        """Takes the updates and does nothing else. Returns when all results are computed."""
        ...


class Yardstick(Protocol):
    """A workload to time."""

    @property
    def name(self) -> str:
        """The name used by `Cost.speed`, unique among all agents."""
        ...

    @property
    def description(self) -> str:
        """A description in words, for the command `calibrate`."""
        ...

    @property
    def cost(self) -> Cost:
        """The cost of one of its runs."""
        ...

    @property
    def widths(self) -> Mapping[str, Sequence[int]]:
        """The pack widths to time, by type of device ("cpu", "cuda")."""
        ...

    def shortened(self, updates: int) -> "Yardstick":
        """The same workload with bursts of that number of updates, for a first try or a busy machine."""
        ...

    def pack(self, width: int, mode: str, device: str) -> TimedPack:
        """A pack of that width in that mode ("eager", "compiled"), ready to be timed."""
        ...

    def peak(self, width: int, device: str) -> None:
        """Runs the part that takes the most GPU memory, with an eager pack of that width: a burst and an evaluation."""
        ...
