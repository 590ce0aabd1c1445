"""Scores: values of benchmarks with different units made comparable, so that 0 and 1 have the same meaning on each.

The values that become 0 and 1 are in analysis/reported/score_ends.csv: chance and the best possible accuracy of a
classifier, the return of random actions and of a reference. If the file has no values, 0 and 1 are the worst and the
best value of any run. A line without numbers says why the benchmark has no scores. No end depends on the choice of the
reference arm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.compare.arm import Arm
from analysis.compare.sections import Section
from analysis.compare.setting import together, word
from analysis.reported import lines
from analysis.rows import Row
from plasticity_lab.records.measures import Measure

FILE, ANY = "score_ends.csv", "*"
"""The file with ends, and its word for any benchmark: shares of units have the same bounds everywhere."""
ACCURACIES = (
    "aoa", "taoa", "taoa_all", "aoa_first_tenth", "aoa_last_tenth", "final_accuracy", "final_accuracy_last_task",
    "train_accuracy", "train_accuracy_last_task", "acc",
)  # fmt: skip
"""The metrics that share a chance level: 1 / the number of a network's classes."""
MANY = 12
"""Above this number of benchmarks a caption leaves out the numbers of each."""
RETURNS = ("return", "final_return", "mean_return", "test_return")


@dataclass(frozen=True)
class Ends:
    """The values, in the metric's unit, that become 0 and 1 on a benchmark, and a description of each.

    reason: why no scores can be computed, so that means over several benchmarks leave this one out; None if they can.
    """

    low: float | None
    high: float | None
    low_is: str
    high_is: str
    reason: str | None = None

    def score(self, values: Sequence[float] | np.ndarray) -> np.ndarray:
        """The scores of values; NaN if the benchmark has no ends."""
        values = np.asarray(values, dtype=np.float64)
        if self.low is None or self.high is None or self.reason:
            return np.full(values.shape, np.nan)
        return (values - self.low) / (self.high - self.low)


def ends_of(section: Section, stratum: str, shown: Measure, values: Sequence[float]) -> Ends:
    """The ends of a benchmark.  values: the values of all runs of all arms there, in the metric's unit."""
    rows = next(iter(section.strata[stratum].values()))
    known = _known(rows[0], shown)
    if known and not known["low"] and not known["high"]:
        return Ends(None, None, "", "", known["high_is"])
    low, high = (float(known[end]) * shown.scale if known.get(end) else None for end in ("low", "high"))
    low_is, high_is = known.get("low_is", ""), known.get("high_is", "")
    worst, best = (max, min) if shown.better == "less" else (min, max)
    if low is None:
        low, low_is = worst(values, default=None), "the worst run"
    if high is None:
        high, high_is = best(values, default=None), "the best run"
    if low is None or high is None:
        return Ends(low, high, low_is, high_is, "no run has a value")
    if low == high:
        return Ends(low, high, low_is, high_is, f"all runs have the value {shown.number(low)}")
    return Ends(low, high, low_is, high_is)


def _known(row: Row, shown: Measure) -> Mapping[str, str]:
    """The line of the file for a benchmark and a metric; empty if it has none."""
    kind = "accuracy" if shown.name in ACCURACIES else "return" if shown.name in RETURNS else shown.name
    for line in lines(FILE):
        wanted = dict(setting.split("=", 1) for setting in line["where"].split())
        if (
            {row.benchmark, ANY} & {*line["benchmark"].split()}
            and line["of"] == kind
            and all(word(row.study.get(key)) == value for key, value in wanted.items())
        ):
            return line
    return {}


def matrix(columns: Sequence[Sequence[float]]) -> np.ndarray:
    """The values as (N runs, M benchmarks), padded with NaN for benchmarks with fewer runs."""
    filled = np.full((max(map(len, columns), default=0), len(columns)), np.nan)
    for at, column in enumerate(columns):
        filled[: len(column), at] = column
    return filled


def score_matrix(arm: Arm, ends: Mapping[str, Ends]) -> np.ndarray:
    """The scores of an arm (N runs, M benchmarks), padded with NaN for benchmarks with fewer runs."""
    return matrix([ends[task].score(arm.values(task)).tolist() for task in ends])


def said(ends: Mapping[str, Ends], measures: Mapping[str, Measure]) -> list[str]:
    """Sentences about the ends; benchmarks with the same ends share one. Many benchmarks: without the numbers."""
    alike: dict[tuple[str, ...], list[str]] = {}
    many = len(ends) > MANY
    for task, of in ends.items():
        words = [
            name if many else f"{name} ({measures[task].number(value)})"
            for name, value in ((of.low_is, of.low), (of.high_is, of.high))
            if value is not None
        ]
        alike.setdefault((*words, of.reason or ""), []).append(task)
    own = ", different for each" if many else ""
    return [
        f"{together(tasks)}: no scores, since {reason}."
        if reason
        else f"{together(tasks)}: 0 is {' and 1 '.join(words)}{own}."
        for (*words, reason), tasks in alike.items()
    ]
