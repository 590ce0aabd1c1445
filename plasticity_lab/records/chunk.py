"""What training goes along, as far as records look at it: stages of a benchmark, and their parts."""

from collections.abc import Mapping
from typing import Protocol


class Chunk(Protocol):
    """A part of a task between two looks at the clock, of some seconds at most."""

    @property
    def task(self) -> int:
        """The position of its task."""
        ...

    @property
    def epoch(self) -> int:
        """Counted through the run, from 0."""
        ...

    @property
    def steps(self) -> int:
        """How far it goes, in the benchmark's unit."""
        ...

    @property
    def ends_epoch(self) -> bool:
        """Whether an epoch's row is written after it."""
        ...

    @property
    def marks(self) -> Mapping[str, int]:
        """What is written beside its rows (see `Measures.marks`)."""
        ...


class Stage(Protocol):
    """A task, as far as a record's rows name it."""

    @property
    def position(self) -> int:
        """Which of the benchmark's tasks it is, from 0."""
        ...

    @property
    def marks(self) -> Mapping[str, int]:
        """Those of its chunks."""
        ...
