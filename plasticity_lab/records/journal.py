"""What a pack has measured so far: sums of the epoch and the task in progress, and an event for each that has ended.

Shapes: S steps of a chunk, K runs of the pack, N events. Every number of run k is computed from column k alone and
added up in the order of the steps, whatever the width of the pack and however an epoch is cut into chunks.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.records.position import Position

Array = NDArray[Any]
Rows = Mapping[str, Array]

METRICS = pa.schema(
    [
        ("kind", pa.string()),
        ("task", pa.int64()),
        ("epoch", pa.int64()),
        ("step", pa.int64()),
        ("aoa", pa.float64()),
        ("train_loss", pa.float64()),
        ("final_accuracy", pa.float64()),
        ("hard", pa.bool_()),
    ]
)
"""metrics.parquet: one row for each event; `step` is the number of steps of the run when the event ended."""

_KINDS = ("epoch", "task")
_MARKS = 5  # kind, task, epoch, step, hard
_VALUES = 3  # aoa, train_loss, final_accuracy


class Chunk(Protocol):
    """Consecutive steps of one epoch of one task."""

    task: int
    epoch: int  # counted through the run, from 0
    steps: int
    ends_epoch: bool
    hard: bool


class Task(Protocol):
    """One stage of a benchmark."""

    position: int
    hard: bool


class Journal:
    """The metrics of K runs trained together, and the position at which they stand."""

    def __init__(self, runs: int) -> None:
        self.runs = runs
        self.position = Position(0, 0)
        self.steps = 0
        """Steps done since the beginning of the run."""
        self.diverged = np.zeros(runs, dtype=np.int64)
        """(K,): the step, counted from 1, whose loss was the first that is not finite; 0 where all were."""
        self._epoch = 0
        self._epoch_accuracy, self._epoch_loss, self._task_accuracy = (_Mean(runs) for _ in range(3))
        self._train_loss = np.full(runs, np.nan)
        self._events = _Events(runs)

    def add_chunk(self, chunk: Chunk, rows: Rows) -> None:
        """Adds a chunk's batches, and the epoch's event if it ends one.

        rows: accuracy (S, K), a fraction, and loss (S, K).  Raises ValueError for another task, epoch or shape.
        """
        accuracy, loss = (self._checked(rows, name, (chunk.steps, self.runs)) for name in ("accuracy", "loss"))
        if chunk.task != self.position.task:
            raise ValueError(f"A chunk of task {chunk.task} came in the middle of task {self.position.task}.")
        if self._epoch_loss.count and chunk.epoch != self._epoch:
            raise ValueError(f"A chunk of epoch {chunk.epoch} came before epoch {self._epoch} had ended.")
        finite = np.isfinite(loss)
        first = np.logical_not(finite).argmax(axis=0)
        newly = (self.diverged == 0) & ~finite.all(axis=0)
        self.diverged[newly] = self.steps + 1 + first[newly]

        self._epoch_accuracy.add(accuracy)
        self._task_accuracy.add(accuracy)
        # A plain NaN, so that infinities of both signs do not meet; the run's rows end here anyway.
        self._epoch_loss.add(np.where(finite, loss, np.nan))
        self.steps += chunk.steps
        self.position = Position(chunk.task, self.position.step + chunk.steps)
        self._epoch = chunk.epoch
        if chunk.ends_epoch:
            aoa, self._train_loss = self._epoch_accuracy.take(), self._epoch_loss.take()
            self._append("epoch", chunk.task, chunk.hard, aoa, np.full(self.runs, np.nan))

    def add_task(self, task: Task, rows: Rows) -> None:
        """Adds the event of a task that has ended, and moves on to the next.

        rows: final_accuracy (K,), a fraction.  Raises ValueError for another task or inside an epoch.
        """
        final_accuracy = self._checked(rows, "final_accuracy", (self.runs,))
        if task.position != self.position.task or not self.position.step or self._epoch_loss.count:
            raise ValueError(f"Task {task.position} cannot end while the journal stands inside {self.position}.")
        self._append("task", task.position, task.hard, self._task_accuracy.take(), final_accuracy)
        self.position = Position(task.position + 1, 0)

    @property
    def events(self) -> int:
        """How many there have been."""
        return len(self._events.marks)

    def table(self, k: int, after: int = 0) -> pa.Table:
        """The events of run k, with the columns of METRICS; those that end at or after its divergence are left out.

        after: how many of the first events are left out too.
        """
        marks, values = self._events.marks[after:], self._events.values[after:, :, k]
        if self.diverged[k]:
            before = marks[:, 3] < self.diverged[k]
            marks, values = marks[before], values[before]
        kinds = np.array(_KINDS, dtype=object)[marks[:, 0]]
        # NaN marks what an event does not have; Parquet has null for that.
        measured = [pa.array(values[:, column], from_pandas=True) for column in range(_VALUES)]
        columns = [pa.array(kinds, pa.string()), *map(pa.array, marks[:, 1:4].T), *measured, marks[:, 4].astype(bool)]
        return pa.table(columns, schema=METRICS)

    def state(self) -> dict[str, Tensor | int]:
        """All that `load` needs to continue bit for bit: copies, as tensors and plain numbers."""
        arrays = {"diverged": self.diverged, "train_loss": self._train_loss}
        arrays |= {"marks": self._events.marks, "values": self._events.values}
        counts = {"task": self.position.task, "step": self.position.step, "steps": self.steps, "epoch": self._epoch}
        for name, mean in self._means().items():
            arrays[f"{name}_total"], counts[f"{name}_count"] = mean.total, mean.count
        return {name: torch.tensor(array) for name, array in arrays.items()} | counts

    def load(self, state: Mapping[str, Any]) -> None:
        """Continues from a state.  Raises ValueError if it is that of another number of runs."""
        arrays = {name: value.numpy().copy() for name, value in state.items() if isinstance(value, Tensor)}
        if arrays["diverged"].shape != (self.runs,):
            raise ValueError(f"The state holds {len(arrays['diverged'])} runs; this journal has {self.runs}.")
        self.position = Position(state["task"], state["step"])
        self.steps, self._epoch = state["steps"], state["epoch"]
        self.diverged, self._train_loss = arrays["diverged"], arrays["train_loss"]
        for name, mean in self._means().items():
            mean.total, mean.count = arrays[f"{name}_total"], state[f"{name}_count"]
        self._events = _Events(self.runs, arrays["marks"], arrays["values"])

    def _means(self) -> dict[str, "_Mean"]:
        return {
            "epoch_accuracy": self._epoch_accuracy,
            "epoch_loss": self._epoch_loss,
            "task_accuracy": self._task_accuracy,
        }

    def _append(self, kind: str, task: int, hard: bool, aoa: Array, final_accuracy: Array) -> None:
        marks = [_KINDS.index(kind), task, self._epoch, self.steps, hard]
        self._events.append(marks, [aoa, self._train_loss, final_accuracy])

    def _checked(self, rows: Rows, name: str, shape: tuple[int, ...]) -> Array:
        values = np.asarray(rows[name], dtype=np.float64)
        if values.shape != shape:
            raise ValueError(f"The rows '{name}' have the shape {values.shape}; {shape} was due.")
        return values


class _Mean:
    """A mean over steps for each run: total (K,) and the number of steps in it."""

    def __init__(self, runs: int) -> None:
        self.total = np.zeros(runs)
        self.count = 0

    def add(self, rows_SK: Array) -> None:
        # A running sum adds step by step. `sum` would add a column of its own in another order than one of many,
        # and a run alone would differ in the last bit from the same run in a pack.
        self.total = np.add.accumulate(np.vstack([self.total, rows_SK]), axis=0)[-1].copy()
        self.count += len(rows_SK)

    def take(self) -> Array:
        """The mean (K,); begins anew."""
        mean = self.total / self.count
        self.total, self.count = np.zeros_like(self.total), 0
        return mean


class _Events:
    """A growing table: marks (N, 5), the same for all runs, and values (N, 3, K)."""

    def __init__(self, runs: int, marks: Array | None = None, values: Array | None = None) -> None:
        self._marks = np.empty((0, _MARKS), dtype=np.int64) if marks is None else marks
        self._values = np.empty((0, _VALUES, runs)) if values is None else values
        self._count = len(self._marks)

    @property
    def marks(self) -> Array:
        return self._marks[: self._count]

    @property
    def values(self) -> Array:
        return self._values[: self._count]

    def append(self, marks: list[int], values: list[Array]) -> None:
        if self._count == len(self._marks):
            more = max(64, self._count)
            self._marks = np.concatenate([self._marks, np.empty((more, _MARKS), dtype=np.int64)])
            self._values = np.concatenate([self._values, np.empty((more, *self._values.shape[1:]))])
        self._marks[self._count], self._values[self._count] = marks, values
        self._count += 1
