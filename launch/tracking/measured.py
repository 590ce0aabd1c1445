"""What tracking needs of a journal."""

from typing import TYPE_CHECKING, Protocol

from plasticity_lab.records.measures import Measures

if TYPE_CHECKING:
    import pyarrow as pa


class Measured(Protocol):
    """The part of a journal that is tracked."""

    @property
    def events(self) -> int:
        """How many rows of epochs, tasks and pairs there are of each run."""
        ...

    @property
    def measures(self) -> Measures:
        """What is measured."""
        ...

    def table(self, k: int, after: int = 0) -> "pa.Table":
        """The rows of run k, without the first `after` events and their episodes."""
        ...
