"""What a learner has measured in a chunk, before the journal adds it up.

Shapes: K runs, S updates of a chunk, E episodes that ended in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Episodes:
    """The episodes that ended in a chunk, those of each run in the order in which they ended.

    run (E,): whose they were, 0 … K − 1. step (E,): steps of the run when each ended, counted from 1 through the run.
    values: measure → (E,).
    """

    run: NDArray[np.int64]
    step: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Rows:
    """What a chunk has measured.

    updates: measure → (S, K), a mean over the examples of each update; S may be 0, and need not be the chunk's steps.
    episodes: None for an agent that has none. values: measure → (K,), of the epoch that the chunk ends.
    """

    updates: Mapping[str, NDArray[np.float64]]
    episodes: Episodes | None = None
    values: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


Evaluation = Mapping[str, NDArray[Any]]
"""Measure → (K,), of a whole task; of its pairs with P tasks (K, P)."""


class Position(NamedTuple):
    """Before step `step` of task `task`; at a task's last step, before its evaluation."""

    task: int
    step: int


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
