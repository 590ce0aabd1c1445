"""Values of benchmarks with units of their own → scores that can be averaged: 0 and 1 are the same on each.

What 0 and 1 are is data of the benchmark, in analysis/reported/score_ends.csv: chance of a classifier, the return of
random actions, that of a reference. Where the file has none, 0 is the lowest mean of an arm, and 1 that of the
reference arm, or the best mean. A line without numbers says why there are no scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.compare.arm import Arm, matrix
from analysis.compare.sections import Section
from analysis.compare.words import together, word
from analysis.reported.reported import lines
from analysis.rows import Row
from plasticity_lab.records.measures import Measure

FILE = "score_ends.csv"
ACCURACIES = (
    "aoa", "taoa", "taoa_all", "aoa_first_tenth", "aoa_last_tenth", "final_accuracy", "final_accuracy_last_task",
    "train_accuracy", "train_accuracy_last_task", "acc",
)  # fmt: skip
"""The metrics whose chance level is that of naming one class of all that a network distinguishes."""
MANY = 12
"""More benchmarks than that, and a caption has no room for the numbers of each."""
RETURNS = ("return", "final_return", "mean_return", "test_return")


@dataclass(frozen=True)
class Ends:
    """The values, in the metric's unit, that became 0 and 1 on a benchmark, and what each of them is.

    reason: why there are no scores, where low and high are no two numbers. scored: False where the file says that the
    benchmark has none, which no run can change: means over several benchmarks leave it out.
    """

    low: float | None
    high: float | None
    low_is: str
    high_is: str
    reason: str | None = None
    scored: bool = True

    def score(self, values: Sequence[float] | np.ndarray) -> np.ndarray:
        """The scores of values; NaN where there are no ends."""
        given = np.asarray(values, dtype=np.float64)
        if self.low is None or self.high is None or self.reason:
            return np.full(given.shape, np.nan)
        return (given - self.low) / (self.high - self.low)


def ends_of(section: Section, stratum: str, shown: Measure, means: Mapping[str, float], reference: str | None) -> Ends:
    """The ends of a benchmark.

    means: arm → its mean there, in the metric's unit. reference: the arm whose mean is 1 where the benchmark has no
    reference of its own; the best one's where None.
    """
    rows = next(iter(section.strata[stratum].values()))
    known = _known(rows[0], shown)
    if known and not known["low"] and not known["high"]:
        return Ends(None, None, "", "", known["high_is"], scored=False)
    low = _number(known, "low", shown)
    high = _number(known, "high", shown)
    low_is, high_is = known.get("low_is", ""), known.get("high_is", "")
    if low is None:
        worst = max if shown.better == "less" else min
        low = worst(means.values(), default=None)
        low_is = "the lowest mean of an arm" if worst is min else "the greatest mean of an arm"
    if high is None:
        best = min if shown.better == "less" else max
        high = means.get(reference or "", best(means.values(), default=None))
        high_is = f"the mean of {reference}" if reference in means else "the best mean of an arm"
    reason = None
    if low is None or high is None:
        reason = "no run has a value"
    elif (low >= high) != (shown.better == "less") or low == high:
        reason = f"{high_is} ({shown.number(high)}) is not better than {low_is} ({shown.number(low)})"
    return Ends(low, high, low_is, high_is, reason)


def score_matrix(arm: Arm, ends: Mapping[str, Ends]) -> np.ndarray:
    """The scores of an arm: runs (N) × benchmarks (M), NaN where one has fewer."""
    return matrix([ends[task].score(arm.cells[task].values if task in arm.cells else ()).tolist() for task in ends])


def said(ends: Mapping[str, Ends], shown: Mapping[str, Measure]) -> list[str]:
    """What a caption says of 0 and 1, benchmarks of the same ends together; of many benchmarks without the numbers."""
    alike: dict[tuple[str, ...], list[str]] = {}
    many = len(ends) > MANY
    for task, of in ends.items():
        words = [
            name if many else f"{name} ({shown[task].number(value)})"
            for name, value in ((of.low_is, of.low), (of.high_is, of.high))
            if value is not None
        ]
        alike.setdefault((*words, of.reason or ""), []).append(task)
    own = ", of each its own" if many else ""
    return [
        f"{together(tasks)}: no scores, since {reason}."
        if reason
        else f"{together(tasks)}: 0 is {' and 1 '.join(words)}{own}."
        for (*words, reason), tasks in alike.items()
    ]


def _known(row: Row, shown: Measure) -> Mapping[str, str]:
    """The line of the file for a benchmark and a metric; nothing where it has none."""
    kind = "accuracy" if shown.name in ACCURACIES else "return" if shown.name in RETURNS else shown.name
    for line in lines(FILE):
        wanted = dict(setting.split("=", 1) for setting in line["where"].split())
        if (
            row.benchmark in line["benchmark"].split()
            and line["of"] == kind
            and all(word(row.study.get(key)) == value for key, value in wanted.items())
        ):
            return line
    return {}


def _number(known: Mapping[str, str], name: str, shown: Measure) -> float | None:
    return float(known[name]) * shown.scale if known.get(name) else None
