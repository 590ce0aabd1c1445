"""The measurements of a pack so far: sums of the current epoch and task, and a row for each that has ended.

Shapes: S updates of a chunk, K runs of the pack, N rows of events, E episodes, C columns. Every number of run k is
computed only from column k and added in the order of the updates. So it depends neither on the width of the pack nor on
the division of an epoch into chunks.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from plasticity_lab.records.accumulators import Growing, RunningMean
from plasticity_lab.records.measures import Kind, Measures, Taken
from plasticity_lab.records.rows import Chunk, Episodes, Evaluation, Position, Rows, Task

Array = NDArray[Any]

_CODES: Mapping[Kind, int] = {"episode": -1, "epoch": 0, "task": 1, "pair": 2}
"""The codes of the kinds of rows; among rows that end at the same step, the lower code comes first."""
_KINDS = np.array(list(_CODES), dtype=object)
_FIXED_MARKS = 4  # kind (for an episode: run), task, epoch, step


class Journal:
    """The metrics of K runs trained together, and their position.  measures: the measures of their agent."""

    def __init__(self, runs: int, measures: Measures) -> None:
        self.runs, self.measures = runs, measures
        self.position = Position(0, 0)
        self.steps = 0
        """Steps since the beginning of the run."""
        self.diverged = np.zeros(runs, dtype=np.int64)
        """(K,): the first step, counted from 1, with a non-finite `must_stay_finite` value; 0 if all are finite."""
        self.stopped = np.zeros(runs, dtype=np.int64)
        """(K,): the steps of a run when it was stopped early; 0 if it was not."""
        self._epoch, self._inside = 0, False  # the epoch of the last chunk, and whether it continues
        columns = measures.columns
        self._of_events = [column for column in columns if column.taken.keys() - {"episode"}]
        self._of_episodes = [column for column in columns if "episode" in column.taken]

        def taken(kind: Kind, how: Taken) -> set[str]:
            return {each.of for each in columns if each.taken.get(kind) == how}

        of_last, self._values = taken("task", "last"), taken("epoch", "value")
        self._means = {
            "epoch": {name: RunningMean(runs) for name in sorted(taken("epoch", "mean") | (of_last - self._values))},
            "task": {name: RunningMean(runs) for name in sorted(taken("task", "mean"))},
        }
        self._last = {name: np.full(runs, np.nan) for name in sorted(of_last)}  # the values of the last epoch's row
        marks = _FIXED_MARKS + len(measures.marks)
        self._events = Growing(marks, (len(self._of_events), runs))
        self._episodes = Growing(marks, (len(self._of_episodes),))

    def add_chunk(self, chunk: Chunk, rows: Rows) -> None:
        """Adds a chunk's updates and the episodes that ended in it, and the epoch's row if the chunk ends one.

        Raises ValueError for another task or epoch, for rows of another shape, and for an epoch that lacks a value.
        """
        needed = {*self._means["epoch"], *self._means["task"], self.measures.must_stay_finite} - {None}
        shape = len(next(iter(rows.updates.values()), ())), self.runs
        updates = {name: _checked(rows.updates, name, shape) for name in needed}
        episodes = self._checked_episodes(chunk, rows)
        values = {}
        if chunk.ends_epoch:
            if missing := self._values - rows.values.keys():
                raise ValueError(f"The chunk ends an epoch without the values {', '.join(sorted(missing))}.")
            values = {name: _checked(rows.values, name, (self.runs,)) for name in self._values}
        if chunk.task != self.position.task:
            raise ValueError(f"A chunk of task {chunk.task} came in the middle of task {self.position.task}.")
        if self._inside and chunk.epoch != self._epoch:
            raise ValueError(f"A chunk of epoch {chunk.epoch} came before epoch {self._epoch} had ended.")
        if self.measures.must_stay_finite is not None:
            self._note_diverged(chunk.steps, np.isfinite(updates[self.measures.must_stay_finite]))
        for means in self._means.values():
            for name, mean in means.items():
                # A plain NaN, so that infinities of both signs do not meet.
                mean.add(np.where(np.isfinite(updates[name]), updates[name], np.nan))
        if episodes is not None:
            self._append_episodes(chunk, episodes)
        self.steps += chunk.steps
        self.position = Position(chunk.task, self.position.step + chunk.steps)
        self._epoch, self._inside = chunk.epoch, not chunk.ends_epoch
        if chunk.ends_epoch:
            means = {name: mean.take() for name, mean in self._means["epoch"].items()}
            of_task = {**means, **values, **rows.of_task}
            self._last = {name: of_task[name] for name in self._last}
            self._append("epoch", chunk.task, chunk.marks, {"mean": means, "value": values})

    def add_task(self, task: Task, evaluation: Evaluation) -> None:
        """Adds the row of a task that has ended and the rows of its pairs, and moves on to the next task.

        Raises ValueError for another task, inside an epoch, and for an evaluation of another shape.
        """
        names = {column.of for column in self._of_events if column.taken.get("task") == "value"}
        values = {name: _checked(evaluation, name, (self.runs,)) for name in names}
        if task.position != self.position.task or not self.position.step or self._inside:
            raise ValueError(f"Task {task.position} cannot end while the journal is inside {self.position}.")
        means = {name: mean.take() for name, mean in self._means["task"].items()}
        pairs = self._checked_pairs(evaluation)
        self._append("task", task.position, task.marks, {"mean": means, "last": self._last, "value": values})
        for other in range(len(next(iter(pairs.values()), ()))):
            of_pair = {name: values[other] for name, values in pairs.items()}
            self._append("pair", task.position, task.marks, {"value": of_pair})
        self.position = Position(task.position + 1, 0)

    @property
    def over(self) -> Array:
        """(K,): whether a run has diverged or was stopped. It stays in its pack and is not measured any more."""
        return (self.diverged > 0) | (self.stopped > 0)

    def stop(self, k: int) -> None:
        """Stops run k at the end of a task, unless it is over."""
        if not self.over[k]:
            self.stopped[k] = self.steps

    @property
    def events(self) -> int:
        """The number of rows of epochs, tasks and pairs of each run."""
        return len(self._events.marks)

    def lately(self) -> dict[str, float]:
        """Column → mean over the episodes of the last epoch with ended episodes, over all runs together.

        Only columns of episodes, which are too many to print one by one; without values that are not finite.
        """
        marks = self._episodes.marks
        if not len(marks):
            return {}
        last = self._episodes.values[np.searchsorted(marks[:, 2], marks[-1, 2]) :]
        means = {}
        for at, column in enumerate(self._of_episodes):
            finite = last[:, at][np.isfinite(last[:, at])]
            with np.errstate(over="ignore"):
                mean = float(finite.mean()) if len(finite) else np.nan
            if np.isfinite(mean):
                means[column.name] = mean
        return means

    def table(self, k: int, after: int = 0) -> pa.Table:
        """The rows of run k by step, in the measures' `schema`, up to its divergence or its early stop.

        after: skips this number of events, with the episodes of their epochs: a table in parts has each episode once,
        in the part with its epoch's row.
        """
        first = 0
        if after:
            before = self._events.marks[after - 1, 2]
            first = int(np.searchsorted(self._episodes.marks[:, 2], before, side="right"))
        of_run = first + np.flatnonzero(self._episodes.marks[first:, 0] == k)
        ended = self._episodes.marks[of_run]
        ended[:, 0] = _CODES["episode"]
        marks = np.concatenate([self._events.marks[after:], ended])
        order = np.lexsort((marks[:, 0], marks[:, 3]))
        if self.diverged[k]:
            order = order[marks[order, 3] < self.diverged[k]]
        if self.stopped[k]:
            order = order[marks[order, 3] <= self.stopped[k]]
        measured = {column.name: np.full(len(marks), np.nan) for column in self.measures.columns}
        events = self.events - after
        for at, column in enumerate(self._of_events):
            measured[column.name][:events] = self._events.values[after:, at, k]
        for at, column in enumerate(self._of_episodes):
            measured[column.name][events:] = self._episodes.values[of_run, at]
        marks = marks[order]
        # NaN means a missing value, which is null in Parquet.
        columns = [pa.array(values[order], from_pandas=True) for values in measured.values()]
        kinds = pa.array(_KINDS[marks[:, 0] + 1], pa.string())
        fixed = [pa.array(column) for column in marks[:, 1:_FIXED_MARKS].T]
        types = self.measures.marks.values()
        more = [pa.array(column.astype(kind)) for column, kind in zip(marks[:, _FIXED_MARKS:].T, types, strict=True)]
        return pa.table([kinds, *fixed, *columns, *more], schema=self.measures.schema)

    def state(self) -> dict[str, Any]:
        """The state for `load`, which continues bit for bit: copies, as tensors and plain numbers."""
        return {
            "task": self.position.task,
            "step": self.position.step,
            "steps": self.steps,
            "epoch": self._epoch,
            "inside": int(self._inside),
            "diverged": torch.tensor(self.diverged),
            "stopped": torch.tensor(self.stopped),
            "means": {kind: {name: mean.state() for name, mean in of.items()} for kind, of in self._means.items()},
            "last": {name: torch.tensor(values) for name, values in self._last.items()},
            "events": self._events.state(),
            "episodes": self._episodes.state(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Continues from a state.  Raises ValueError for another number of runs, or for other measures."""
        if len(state["diverged"]) != self.runs:
            raise ValueError(f"The state holds {len(state['diverged'])} runs; this journal has {self.runs}.")
        kept = {kind: set(means) for kind, means in state["means"].items()} | {"last": set(state["last"])}
        wanted = {kind: set(means) for kind, means in self._means.items()} | {"last": set(self._last)}
        if kept != wanted:
            raise ValueError(f"The state has measured {kept}; this journal measures {wanted}.")
        self._events.load(state["events"])
        self._episodes.load(state["episodes"])
        self.position = Position(state["task"], state["step"])
        self.steps, self._epoch, self._inside = state["steps"], state["epoch"], bool(state["inside"])
        self.diverged = state["diverged"].numpy().copy()
        if "stopped" in state:  # earlier versions stopped no runs
            self.stopped = state["stopped"].numpy().copy()
        self._last = {name: state["last"][name].numpy().copy() for name in self._last}
        for kind, means in self._means.items():
            for name, mean in means.items():
                mean.load(state["means"][kind][name])

    def _note_diverged(self, steps: int, finite: Array) -> None:
        """finite (S, K).  If every step is an update, the step is known; otherwise it is the chunk's last."""
        newly = ~self.over & ~finite.all(axis=0)
        if newly.any():
            exact = len(finite) == steps
            within = 1 + np.logical_not(finite).argmax(axis=0) if exact else np.full(self.runs, steps)
            self.diverged[newly] = self.steps + within[newly]

    def _append(
        self, kind: Kind, task: int, marks: Mapping[str, int], taken: Mapping[Taken, Mapping[str, Array]]
    ) -> None:
        """taken: how → the rows' name → (K,)."""
        missing = np.full(self.runs, np.nan)
        values = [taken[each.taken[kind]][each.of] if kind in each.taken else missing for each in self._of_events]
        row = [_CODES[kind], task, self._epoch, self.steps, *(int(marks[name]) for name in self.measures.marks)]
        self._events.append(np.array([row]), np.array(values).reshape(1, -1, self.runs))

    def _append_episodes(self, chunk: Chunk, episodes: Episodes) -> None:
        row = [0, chunk.task, chunk.epoch, 0, *(int(chunk.marks[name]) for name in self.measures.marks)]
        marks = np.tile(np.array(row), (len(episodes.run), 1))
        marks[:, 0], marks[:, 3] = episodes.run, episodes.step
        values = [episodes.values[column.of] for column in self._of_episodes]
        self._episodes.append(marks, np.stack(values, axis=1) if values else np.empty((len(marks), 0)))

    def _checked_pairs(self, evaluation: Evaluation) -> dict[str, Array]:
        """The values of the task's pairs, (P, K) each; {} without columns of pairs."""
        values = {column.of: np.asarray(evaluation[column.of]) for column in self._of_events if "pair" in column.taken}
        pairs = max((each.shape[1] for each in values.values() if each.ndim == 2), default=0)
        return {name: _checked(values, name, (self.runs, pairs)).T for name in values}

    def _checked_episodes(self, chunk: Chunk, rows: Rows) -> Episodes | None:
        ended = rows.episodes
        if ended is None:
            return None
        values = {column.of: _checked(ended.values, column.of, (len(ended.run),)) for column in self._of_episodes}
        run, step = np.asarray(ended.run, dtype=np.int64), np.asarray(ended.step, dtype=np.int64)
        last = self.steps + chunk.steps
        if len(run) != len(step) or not ((run >= 0) & (run < self.runs) & (step > self.steps) & (step <= last)).all():
            raise ValueError(
                f"Each episode needs a run from 0 to {self.runs - 1} and a step from {self.steps + 1} to {last}."
            )
        return Episodes(run, step, values)


def _checked(rows: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    values = np.asarray(rows[name], dtype=np.float64)
    if values.shape != shape:
        raise ValueError(f"The rows '{name}' have the shape {values.shape}; {shape} was due.")
    return values
