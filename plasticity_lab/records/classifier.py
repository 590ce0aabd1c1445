"""What a classifier measures, and a run of it in a few numbers, made from its metrics alone.

It lies with the records because old records, without a declaration of what is measured, are classifiers'.
"""

import math
from collections.abc import Mapping
from copy import deepcopy
from statistics import fmean
from typing import TYPE_CHECKING, Any

from plasticity_lab.records.measures import Better, Column, Declared, Measure, Measures

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_CHANCE_FACTOR = 1.2
_COLLAPSED_TASKS = 3


def summarise(table: "pa.Table") -> dict[str, float | None]:
    """The summary of a run: accuracies as fractions, None where no task has ended (diverged in the first).

    taoa: mean over all batches of hard tasks (taoa_all: of all tasks). The rest are means over hard tasks:
    aoa_first_tenth and aoa_last_tenth (of at least one task), aoa_slope (least squares, change of AOA a hard task),
    final_accuracy, final_accuracy_last_task, and gap: final accuracy − AOA.
    """
    import numpy as np  # a tenth of a second, which commands that only read declarations need not wait for

    tasks = _tasks(table)
    batches = np.diff(tasks["step"], prepend=0)
    hard = tasks["hard"].astype(bool)
    aoa, final = tasks["aoa"][hard], tasks["final_accuracy"][hard]
    tenth = max(1, len(aoa) // 10)
    return {
        "taoa": _mean(aoa, batches[hard]),
        "taoa_all": _mean(tasks["aoa"], batches),
        "aoa_first_tenth": _mean(aoa[:tenth]),
        "aoa_last_tenth": _mean(aoa[-tenth:]),
        "aoa_slope": _slope(aoa),
        "final_accuracy": _mean(final),
        "final_accuracy_last_task": _mean(final[-1:]),
        "gap": _mean(final - aoa),
    }


def flags(table: "pa.Table", facts: Mapping[str, float]) -> dict[str, bool]:
    """collapsed: whether three hard tasks in a row stood at chance, AOA ≤ 1.2 / `classes`, which the facts hold."""
    tasks = _tasks(table)
    at_chance = tasks["aoa"][tasks["hard"].astype(bool)] <= _CHANCE_FACTOR / facts["classes"]
    in_a_row = longest = 0
    for low in at_chance:
        in_a_row = in_a_row + 1 if low else 0
        longest = max(longest, in_a_row)
    return {"collapsed": longest >= _COLLAPSED_TASKS}


def _tasks(table: "pa.Table") -> "dict[str, NDArray[Any]]":
    are_tasks = table["kind"].to_numpy() == "task"
    return {name: table[name].to_numpy()[are_tasks] for name in ("step", "aoa", "final_accuracy", "hard")}


def _mean(values: "NDArray[Any]", weights: "NDArray[Any] | None" = None) -> float | None:
    """The mean, rounded once; None of nothing."""
    if not len(values):
        return None
    return fmean(values.tolist(), None if weights is None else weights.tolist())


def _slope(values: "NDArray[Any]") -> float | None:
    """Least-squares slope of values against their number; None for fewer than two."""
    if len(values) < 2:
        return None
    import numpy as np  # as above

    x = np.arange(len(values)) - (len(values) - 1) / 2
    return math.fsum(x * values) / math.fsum(x * x)


def _percent(name: str, title: str, better: Better = "more", short: str = "") -> Measure:
    return Measure(name, title, "%", 100.0, 2, better, short)


CLASSIFIER = Measures(
    columns=(
        Column(_percent("aoa", "Online accuracy"), "accuracy", {"epoch": "mean", "task": "mean"}),
        Column(Measure("train_loss", "Training loss", better="less"), "loss", {"epoch": "mean", "task": "last"}),
        Column(_percent("final_accuracy", "Final accuracy"), "final_accuracy", {"task": "value"}),
    ),
    summaries=(
        _percent("taoa", "Total Average Online Task Accuracy", short="TAOA"),
        _percent("taoa_all", "Total Average Online Task Accuracy, easy tasks included"),
        _percent("aoa_first_tenth", "Average online accuracy, first tenth of the tasks"),
        _percent("aoa_last_tenth", "Average online accuracy, last tenth of the tasks"),
        Measure("aoa_slope", "Slope of the average online accuracy over tasks", "% per task", 100.0, 4, "more"),
        _percent("final_accuracy", "Final task accuracy, mean over tasks", short="final accuracy"),
        _percent("final_accuracy_last_task", "Final accuracy of the last task"),
        # A gap is healthy or not; there is no better one.
        _percent("gap", "Generalization gap", better="", short="GAP"),
    ),
    headline="taoa",
    must_stay_finite="loss",
    summarise=summarise,
    marks={"hard": bool},
    flags=flags,
)


_DECLARED: list[tuple[Any, Declared]] = []


def declared_in(record: Mapping[str, Any]) -> Declared:
    """The declaration of a record's numbers, or of a run in training; a classifier's, if there is none.

    Equal declarations are one object: all records of a store repeat a few, and each is read once.

    Raises KeyError, TypeError, ValueError for an invalid declaration.
    """
    content = record.get("measures")
    for known, declared in _DECLARED:
        if known == content:
            return declared
    declared = CLASSIFIER.declared if content is None else Declared.from_json(content)
    _DECLARED.append((deepcopy(content), declared))
    return declared
