"""The accuracies of a run on every task after every task, and ACC, BWT, FWT and forgetting.

Shapes: T tasks. A[i, j] is the accuracy on the held-out images of task j after learning task i.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.records.measures import Column, Measure, Measures, mean, percent

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[Any]


READ_OFF: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        percent("acc", "Average accuracy over all tasks after the last", short="ACC"),
        percent("bwt", "Backward transfer", short="BWT").of_difference,
        percent("one_step_bwt", "Backward transfer over one task", short="one-step BWT").of_difference,
        percent("fwt", "Forward transfer", short="FWT").of_difference,
        percent("forgetting", "Forgetting", "less").of_difference,
    )
}
"""The summaries of a matrix; each name is a property of `TaskMatrix`."""
NO_FORWARD = "no class of a task was trained before it, so that a network cannot name it yet"
"""Why runs of class-incremental learning have no forward transfer."""
_MASKED_ACC = percent("masked_acc", "Average accuracy over all tasks after the last, each among its own classes")
_PAIRS = (
    Column(Measure("on", "Task that is evaluated", places=0), "on", {"pair": "value"}),
    Column(percent("accuracy_on", "Accuracy on another task"), "accuracy_on", {"pair": "value"}),
    Column(
        percent("untrained_accuracy_on", "Accuracy of the untrained network, for comparison with the first task's"),
        "untrained_accuracy_on",
        {"pair": "value"},
    ),
)
_MASKED_PAIR = Column(
    percent("masked_accuracy_on", "Accuracy on another task among its classes"),
    "masked_accuracy_on",
    {"pair": "value"},
)
_MASKED = "masked_accuracy"
"""The column of agents that also measure the accuracy among a task's own classes."""


@dataclass(frozen=True)
class TaskMatrix:
    """after (T, T): A[i, j]. untrained (T,): the accuracies of the untrained network. counts (T,): the tasks that count
    (the hard ones); all tasks are rows, since all change the network.

    Its properties are None if they have no task to average over.
    Sources: Appendix B.6 and Lopez-Paz & Ranzato 2017 (ACC, BWT); Kumar et al. 2023 (BWT over one task); Chaudhry et
    al. 2018 (forgetting).
    """

    after: Array
    untrained: Array
    counts: Array

    @property
    def acc(self) -> float | None:
        """The mean accuracy on all tasks after the last one."""
        return mean(self.after[-1][self.counts]) if len(self.after) else None

    @property
    def bwt(self) -> float | None:
        """Mean over all tasks but the last of A[T, j] − A[j, j]: below zero if earlier tasks were forgotten."""
        return mean([self.after[-1, j] - self.after[j, j] for j in self._earlier])

    @property
    def one_step_bwt(self) -> float | None:
        """Mean over all tasks but the last of A[j + 1, j] − A[j, j]: after one further task."""
        return mean([self.after[j + 1, j] - self.after[j, j] for j in self._earlier])

    @property
    def fwt(self) -> float | None:
        """Mean over all tasks but the first of A[j − 1, j], before training on task j, minus the untrained accuracy."""
        return mean([self.after[j - 1, j] - self.untrained[j] for j in np.flatnonzero(self.counts) if j])

    @property
    def forgetting(self) -> float | None:
        """Mean over all tasks but the last of the best accuracy on task j before the last task, minus A[T, j]."""
        return mean([self.after[:-1, j].max() - self.after[-1, j] for j in self._earlier])

    @property
    def _earlier(self) -> Array:
        return np.flatnonzero(self.counts[:-1])


def matrix_of(table: "pa.Table", column: str = "accuracy_on") -> TaskMatrix:
    """The matrix of a run's learned tasks, from its metrics.

    The untrained accuracies always belong to `accuracy_on`.
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
    """A classifier's measures with the accuracy on each task after each task, and its summaries.

    forward: whether forward transfer is defined. If the main summary was the accuracy on each task right after it, it
    becomes the accuracy on all tasks after the last.
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
