"""The arms of a comparison: the runs of one value of the setting, on each benchmark, and their scores.

Scores make values of benchmarks with different units comparable: 0 and 1 have the same meaning on each. The values that
become 0 and 1 are in analysis/reported/score_ends.csv: chance and the best possible accuracy of a classifier, the
return of random actions and of a reference. If the file has no values, 0 and 1 are the worst and the best value of any
run. A line without numbers says why the benchmark has no scores. No end depends on the choice of the reference arm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.compare.sections import Section
from analysis.compare.setting import together, word
from analysis.names import metric
from analysis.reported import lines
from analysis.rows import Row
from analysis.tables.build import cell_of
from analysis.tables.result import Cell
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Measure

COSTS = ("parameters", "seconds")
"""Numbers in every summary."""


@dataclass(frozen=True)
class Arm:
    """label, value: the setting's. cells: benchmark or game → the arm's runs there; only tasks with runs of this arm.
    costs: name → the mean over all runs of the arm.
    """

    label: str
    value: object
    cells: Mapping[str, Cell]
    costs: Mapping[str, float | None]

    @property
    def n(self) -> int:
        """The number of runs with a value."""
        return sum(cell.n for cell in self.cells.values())

    @property
    def expected(self) -> int:
        """The expected number of runs."""
        return sum(cell.expected for cell in self.cells.values())

    def values(self, task: str) -> Sequence[float]:
        """The values of its runs on a benchmark."""
        return self.cells[task].values if task in self.cells else ()


def arm_of(label: str, value: object, cells: Mapping[str, Cell]) -> Arm:
    """The arm of these cells, with its costs."""
    costs: dict[str, float | None] = {}
    for name in COSTS:
        known = [(mean, cell.n) for cell in cells.values() if (mean := cell.beside.get(name)) is not None]
        means, weights = [mean for mean, _ in known], [n for _, n in known]
        costs[name] = float(np.average(means, weights=weights)) if known else None
    return Arm(label, value, cells, costs)


def arms_of(section: Section, measures: Mapping[str, Measure]) -> list[Arm]:
    """The arms of a section, in its order.  measures: benchmark or game → the compared number."""
    cells: dict[str, dict[str, Cell]] = {arm: {} for arm in section.arms}
    for stratum, rows_of in section.strata.items():
        most = max(len({row.seeds for row in rows}) for rows in rows_of.values())
        for arm, rows in rows_of.items():
            cells[arm][stratum] = cell_of(rows, measures[stratum], COSTS, most)
    return [arm_of(arm, section.value_of[arm], cells[arm]) for arm in section.arms]


def measures_of(section: Section, name: str | None) -> dict[str, Measure]:
    """Benchmark or game → the compared number: the summary value `name`, or the agents' main metric if it is None.

    Raises ConfigError if agents of one benchmark have different main metrics, if no run has the value, or if the value
    is not defined for these runs.
    """
    return {
        stratum: _measure(stratum, [row for rows in rows_of.values() for row in rows], name)
        for stratum, rows_of in section.strata.items()
    }


def _measure(stratum: str, rows: Sequence[Row], name: str | None) -> Measure:
    ended = [row for row in rows if row.status != "waiting"] or rows
    firsts = sorted({row.declared.headline for row in ended})
    if name is None and len(firsts) > 1:
        where = f" on {stratum}" if stratum else ""
        raise ConfigError(
            f"The arms{where} name different metrics first; choose one with --metric: {', '.join(firsts)}."
        )
    measure = metric(name or firsts[0], [row.declared for row in ended])
    if not any(measure.name in row.summary or measure.name in row.declared.summaries for row in ended):
        known = sorted({key for row in ended for key, value in row.summary.items() if isinstance(value, int | float)})
        raise ConfigError(f"No run's summary has '{measure.name}'; there are {', '.join(known)}.")
    if measure.undefined:
        raise ConfigError(f"'{measure.name}' is not defined for these runs: {measure.undefined}.")
    return measure


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
