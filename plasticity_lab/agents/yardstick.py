"""What a kind of device is measured by: small workloads of an agent, from which plans estimate times and widths."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from plasticity_lab.agents.cost import Cost


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
