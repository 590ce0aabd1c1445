"""The measures of classifiers, and the summary of a run from its metrics.

A record without a declaration of its measures belongs to a classifier, so this module is in `records`.
"""

import math
from collections.abc import Mapping
from copy import deepcopy
from itertools import groupby
from typing import TYPE_CHECKING, Any

from plasticity_lab.records.measures import Column, Declared, Measure, Measures, mean, percent

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_CHANCE_FACTOR = 1.2
_COLLAPSED_TASKS = 3


def summarise(table: "pa.Table") -> dict[str, float | None]:
    """The summary of a run: accuracies as fractions, None if no task has ended (diverged in the first).

    taoa: mean over all batches of hard tasks (taoa_all: all tasks). The other values use hard tasks only:
    aoa_first_tenth and aoa_last_tenth (means over at least one task), aoa_slope (least squares, change of AOA per hard
    task), final_accuracy (mean), final_accuracy_last_task, and gap: mean of final accuracy − AOA.
    """
    import numpy as np  # takes a tenth of a second, which commands that only read declarations save

    tasks = _tasks(table)
    batches = np.diff(tasks["step"], prepend=0)
    hard = tasks["hard"].astype(bool)
    aoa, final = tasks["aoa"][hard], tasks["final_accuracy"][hard]
    tenth = max(1, len(aoa) // 10)
    return {
        "taoa": mean(aoa, batches[hard].tolist()),
        "taoa_all": mean(tasks["aoa"], batches.tolist()),
        "aoa_first_tenth": mean(aoa[:tenth]),
        "aoa_last_tenth": mean(aoa[-tenth:]),
        "aoa_slope": _slope(aoa),
        "final_accuracy": mean(final),
        "final_accuracy_last_task": mean(final[-1:]),
        "gap": mean(final - aoa),
    }


def flags(table: "pa.Table", facts: Mapping[str, float]) -> dict[str, bool]:
    """collapsed: whether three hard tasks in a row were at chance, AOA ≤ 1.2 / `classes` (one of the facts)."""
    tasks = _tasks(table)
    at_chance = tasks["aoa"][tasks["hard"].astype(bool)] <= _CHANCE_FACTOR / facts["classes"]
    longest = max((len([*run]) for low, run in groupby(at_chance) if low), default=0)
    return {"collapsed": longest >= _COLLAPSED_TASKS}


def _tasks(table: "pa.Table") -> "dict[str, NDArray[Any]]":
    are_tasks = table["kind"].to_numpy() == "task"
    return {name: table[name].to_numpy()[are_tasks] for name in ("step", "aoa", "final_accuracy", "hard")}


def _slope(values: "NDArray[Any]") -> float | None:
    """Least-squares slope of values against their number; None for fewer than two."""
    if len(values) < 2:
        return None
    import numpy as np  # as above

    x = np.arange(len(values)) - (len(values) - 1) / 2
    return math.fsum(x * values) / math.fsum(x * x)


CLASSIFIER = Measures(
    columns=(
        Column(percent("aoa", "Online accuracy"), "accuracy", {"epoch": "mean", "task": "mean"}),
        Column(Measure("train_loss", "Training loss", better="less"), "loss", {"epoch": "mean", "task": "last"}),
        Column(percent("final_accuracy", "Final accuracy"), "final_accuracy", {"task": "value"}),
    ),
    summaries=(
        percent("taoa", "Total Average Online Task Accuracy", short="TAOA"),
        percent("taoa_all", "Total Average Online Task Accuracy, easy tasks included"),
        percent("aoa_first_tenth", "Average online accuracy, first tenth of the tasks"),
        percent("aoa_last_tenth", "Average online accuracy, last tenth of the tasks"),
        Measure("aoa_slope", "Slope of the average online accuracy over tasks", "% per task", 100.0, 4, "more"),
        percent("final_accuracy", "Final task accuracy, mean over tasks", short="final accuracy"),
        percent("final_accuracy_last_task", "Final accuracy of the last task"),
        # Neither a larger nor a smaller gap is better.
        percent("gap", "Generalization gap", better="", short="GAP").of_difference,
    ),
    headline="taoa",
    must_stay_finite="loss",
    summarise=summarise,
    marks={"hard": bool},
    flags=flags,
)


_DECLARED: list[tuple[Any, Declared]] = []


def declared_in(record: Mapping[str, Any]) -> Declared:
    """The declaration of the numbers of a record, or of a run in training; by default a classifier's.

    Equal declarations are one object: the records of a store repeat a few declarations, and each is read once.

    Raises KeyError, TypeError, ValueError for an invalid declaration.
    """
    content = record.get("measures")
    for known, declared in _DECLARED:
        if known == content:
            return declared
    declared = CLASSIFIER.declared if content is None else Declared.from_json(content)
    _DECLARED.append((deepcopy(content), declared))
    return declared
