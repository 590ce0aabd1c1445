"""A row of the task matrix: a pack's accuracy on every task of its benchmark, after training on one of them.

Legend: K runs, T tasks.
"""

from collections.abc import Callable, Mapping

import numpy as np
from torch import Tensor

from plasticity_lab.benchmarks.labelled.stream import Stream, Task
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.records.rows import Evaluation

Scored = Callable[[Task, Mapping[str, Tensor]], Evaluation]
"""(task, a pack's parameters) → accuracies on the task's held-out images by name, (K,)."""
COLUMNS = {"final_accuracy": "accuracy_on", "masked_accuracy": "masked_accuracy_on"}
"""Name of an accuracy on one task → name of the row of accuracies on all tasks (see `records.task_matrix`)."""


def row_of(
    task: Task,
    own: Evaluation,
    scored: Scored,
    image_set: ImageSet,
    parameters: Mapping[str, Tensor],
    untrained: Mapping[str, Tensor] | None,
) -> Evaluation:
    """on: 0 … T − 1; accuracy_on, untrained_accuracy_on, and further scores, (K, T) each.

    own: the scores on the task itself, which are not computed again.
    untrained: the initial parameters; None: their accuracies are missing from this row (NaN).
    """
    benchmark = task.benchmark
    stream = Stream(benchmark, image_set, task.seeds)
    after, before = [], []
    for position in range(benchmark.tasks):
        other = task if position == task.position else stream.task(position)
        after.append(own if other is task else scored(other, parameters))
        before.append(scored(other, untrained)["final_accuracy"] if untrained is not None else np.nan)
    there = len(task.seeds), benchmark.tasks
    row = {COLUMNS[name]: np.stack([each[name] for each in after], axis=1) for name in own}
    row["untrained_accuracy_on"] = np.broadcast_to(np.stack(before, axis=-1), there)
    return {"on": np.broadcast_to(np.arange(benchmark.tasks), there), **row}
