"""The measurements of training as the journal receives them: positions, chunks, and their rows.

Shapes: K runs, S updates of a chunk, E episodes that ended in it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Position(NamedTuple):
    """Before step `step` of task `task`; at a task's last step, before its evaluation."""

    task: int
    step: int


@dataclass(frozen=True)
class Chunk:
    """A part of a task that takes a few seconds at most; after it the trainer handles checkpoints and signals.

    task: the position of its task. epoch: the number of its epoch, counted through the run from 0. first: the steps of
    the run before it. steps: its length, in the benchmark's unit. ends_epoch: whether an epoch's row is written after
    it. marks: the values of the mark columns in its rows (see `Measures.marks`).
    """

    task: int
    epoch: int
    first: int
    steps: int
    ends_epoch: bool
    marks: Mapping[str, int]


@dataclass(frozen=True)
class Task:
    """One stage of a pack, with the same number of steps for all runs.

    position: its number among the benchmark's tasks, from 0. marks: the marks of its chunks.
    """

    position: int
    marks: Mapping[str, int]

    def chunks(self, after: Position) -> Iterator[Any]:
        """The remaining chunks, in the class that the learner takes; all unless `after` lies within this task."""
        raise NotImplementedError


@dataclass(frozen=True)
class Episodes:
    """The episodes that ended in a chunk, for each run in the order of their ends.

    run (E,): their runs, 0 … K − 1. step (E,): the run's steps when each ended, counted from 1 through the run.
    values: measure → (E,).
    """

    run: NDArray[np.int64]
    step: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Rows:
    """The measurements of a chunk.

    updates: measure → (S, K), a mean over the examples of each update; S may be 0, and may differ from the chunk's
    steps. episodes: None for an agent without episodes. values: measure → (K,), for the epoch that the chunk ends.
    of_task: values for the task's row if they differ from the values of its last epoch: measured without the
    epoch's perturbation.
    """

    updates: Mapping[str, NDArray[np.float64]]
    episodes: Episodes | None = None
    values: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    of_task: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


Evaluation = Mapping[str, NDArray[Any]]
"""Measure → (K,) for a whole task, or (K, P) for its pairs with P tasks."""
