"""What a kind of device is measured by: small workloads of an agent, from which plans estimate times and widths."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from plasticity_lab.agents.cost import Cost


class Burst(Protocol):
    """A pack that can be timed.  updates: of each run in one burst."""

    updates: int

    def __call__(self) -> object:
        """Some updates; returns when all is computed."""
        ...


class Yardstick(Protocol):
    """A workload.

    name: as `Cost.speed` says it. told: in words, for the command that measures. cost: of one of its runs. widths: by
    type of device ("cpu", "cuda"), the packs that are timed.
    """

    name: str
    told: str
    cost: Cost
    widths: Mapping[str, Sequence[int]]

    def pack(self, width: int, mode: str, device: str) -> Burst:
        """A pack of that width in that mode ("eager", "compiled"), ready to be timed."""
        ...

    def peak(self, width: int, device: str) -> Callable[[], None]:
        """What takes the most memory of a GPU: a burst and an evaluation."""
        ...
