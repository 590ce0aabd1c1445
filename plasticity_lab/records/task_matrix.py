"""How accurate a run is on every task after every task, and what is read off that: ACC, BWT, FWT, forgetting.

Shapes: T tasks. A[i, j] is the accuracy on the held-out images of task j, once task i has been learned.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.records.measures import Better, Column, Measure, Measures

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[Any]


def _percent(name: str, title: str, better: Better = "more", short: str = "") -> Measure:
    return Measure(name, title, "%", 100.0, 2, better, short)


READ_OFF: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        _percent("acc", "Average accuracy over all tasks after the last", short="ACC"),
        _percent("bwt", "Backward transfer", short="BWT"),
        _percent("one_step_bwt", "Backward transfer over one task", short="one-step BWT"),
        _percent("fwt", "Forward transfer", short="FWT"),
        _percent("forgetting", "Forgetting", "less"),
    )
}
"""What a summary has of a matrix, each by the name of a property of `TaskMatrix`."""
NO_FORWARD = "no class of a task was trained before it, so that a network cannot name it yet"
"""Why runs of class-incremental learning have no forward transfer."""
_MASKED_ACC = _percent("masked_acc", "Average accuracy over all tasks after the last, each among its own classes")
_PAIRS = (
    Column(Measure("on", "Task that is evaluated", places=0), "on", {"pair": "value"}),
    Column(_percent("accuracy_on", "Accuracy on another task"), "accuracy_on", {"pair": "value"}),
    Column(
        _percent("untrained_accuracy_on", "Accuracy of the untrained network, beside the first task's"),
        "untrained_accuracy_on",
        {"pair": "value"},
    ),
)
_MASKED_PAIR = Column(
    _percent("masked_accuracy_on", "Accuracy on another task among its classes"),
    "masked_accuracy_on",
    {"pair": "value"},
)
_MASKED = "masked_accuracy"
"""The column of agents that also measure the accuracy among a task's own classes."""


@dataclass(frozen=True)
class TaskMatrix:
    """after (T, T): A[i, j]. untrained (T,): the accuracies of the network that has learned nothing. counts (T,): which
    tasks count (the hard ones); all are rows, since all change the network.

    Its properties are None where no task is left to take them of.
    Sources: Appendix B.6 and Lopez-Paz & Ranzato 2017 (ACC, BWT); Kumar et al. 2023 (BWT over one task); Chaudhry et
    al. 2018 (forgetting).
    """

    after: Array
    untrained: Array
    counts: Array

    @property
    def acc(self) -> float | None:
        """The mean accuracy on all tasks after the last one."""
        return _mean(self.after[-1][self.counts]) if len(self.after) else None

    @property
    def bwt(self) -> float | None:
        """Mean over all tasks but the last of A[T, j] − A[j, j]: below zero where earlier tasks were forgotten."""
        return _mean([self.after[-1, j] - self.after[j, j] for j in self._earlier])

    @property
    def one_step_bwt(self) -> float | None:
        """The same after one further task alone: A[j + 1, j] − A[j, j]."""
        return _mean([self.after[j + 1, j] - self.after[j, j] for j in self._earlier])

    @property
    def fwt(self) -> float | None:
        """Mean over all tasks but the first of A[j − 1, j], before task j was trained on, less the untrained one's."""
        return _mean([self.after[j - 1, j] - self.untrained[j] for j in np.flatnonzero(self.counts) if j])

    @property
    def forgetting(self) -> float | None:
        """Mean over all tasks but the last of the best that a run ever was on task j, before the last, less A[T, j]."""
        return _mean([self.after[:-1, j].max() - self.after[-1, j] for j in self._earlier])

    @property
    def _earlier(self) -> Array:
        return np.flatnonzero(self.counts[:-1])


def matrix_of(table: "pa.Table", column: str = "accuracy_on") -> TaskMatrix:
    """The matrix of the tasks that a run has learned, out of its metrics; the untrained accuracies are those of
    `accuracy_on`, whatever the column.
    """
    lines = table.select(["kind", "task", "on", column, "untrained_accuracy_on", "hard"]).to_pylist()
    pairs = [line for line in lines if line["kind"] == "pair"]
    tasks = 1 + max((line["task"] for line in pairs), default=-1)
    after, untrained, counts = np.full((tasks, tasks), np.nan), np.full(tasks, np.nan), np.zeros(tasks, bool)
    for line in pairs:
        learned, other = line["task"], int(line["on"])
        counts[learned] = line["hard"]
        if other < tasks:
            after[learned, other] = line[column]
            if learned == 0:
                untrained[other] = line["untrained_accuracy_on"]
    return TaskMatrix(after, untrained, counts)


def with_matrix(measures: Measures, forward: bool = True) -> Measures:
    """A classifier's measures, and of each pair of tasks the accuracy on one after the other, with their summary.

    forward: whether forward transfer is defined. Where the headline was the accuracy on each task right after it, it is
    the one on all tasks after the last.
    """
    summaries = [
        replace(each, undefined="" if forward or each.name != "fwt" else NO_FORWARD) for each in READ_OFF.values()
    ]
    masked = any(column.name == _MASKED for column in measures.columns)

    def summarise(table: "pa.Table") -> dict[str, float | None]:
        found = matrix_of(table)
        own = {name: getattr(found, name) for name in READ_OFF if forward or name != "fwt"}
        if masked:
            own["masked_acc"] = matrix_of(table, "masked_accuracy_on").acc
        return {**measures.summarise(table), **own}

    return replace(
        measures,
        columns=(*measures.columns, *_PAIRS, *([_MASKED_PAIR] if masked else [])),
        summaries=(*measures.summaries, *summaries, *([_MASKED_ACC] if masked else [])),
        headline="acc" if measures.headline == "final_accuracy" else measures.headline,
        summarise=summarise,
    )


def _mean(values: Any) -> float | None:
    """The mean, rounded once; None of nothing."""
    return fmean(float(value) for value in values) if len(values) else None
