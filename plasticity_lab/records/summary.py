"""A run in a few numbers, made from its metrics alone."""

import math
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_CHANCE_FACTOR = 1.2
_COLLAPSED_TASKS = 3


def summarise(table: pa.Table, parameters: int, seconds: float) -> dict[str, Any]:
    """The summary of a record: accuracies as fractions, None where no task has ended (diverged in the first).

    taoa: mean over all batches of hard tasks (taoa_all: of all tasks). The rest are means over hard tasks:
    aoa_first_tenth and aoa_last_tenth (of at least one task), aoa_slope (least squares, change of AOA a hard task),
    final_accuracy, final_accuracy_last_task, and gap: final accuracy − AOA.
    """
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
        "parameters": parameters,
        "seconds": seconds,
    }


def collapsed(table: pa.Table, classes: int) -> bool:
    """Whether three hard tasks in a row stood at chance: AOA ≤ 1.2 / classes."""
    tasks = _tasks(table)
    at_chance = tasks["aoa"][tasks["hard"].astype(bool)] <= _CHANCE_FACTOR / classes
    in_a_row = 0
    for low in at_chance:
        in_a_row = in_a_row + 1 if low else 0
        if in_a_row == _COLLAPSED_TASKS:
            return True
    return False


def _tasks(table: pa.Table) -> dict[str, NDArray[Any]]:
    rows = table.filter(pc.equal(table["kind"], "task"))
    return {name: rows[name].to_numpy() for name in ("step", "aoa", "final_accuracy", "hard")}


def _mean(values: NDArray[Any], weights: NDArray[Any] | None = None) -> float | None:
    """The mean, rounded once; None of nothing."""
    if not len(values):
        return None
    return fmean(values.tolist(), None if weights is None else weights.tolist())


def _slope(values: NDArray[Any]) -> float | None:
    """Least-squares slope of values against their number; None for fewer than two."""
    if len(values) < 2:
        return None
    x = np.arange(len(values)) - (len(values) - 1) / 2
    return math.fsum(x * values) / math.fsum(x * x)
