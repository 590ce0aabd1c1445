"""How arms come to what they come to: the interquartile mean of all runs, at each part of the training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.compare.arm import matrix
from analysis.compare.comparison import Compared
from analysis.compare.scores import Ends, ends_of
from analysis.figures.asked import Metrics
from analysis.figures.style import POINTS
from analysis.rows import Row
from analysis.statistics.interval import Interval, interval
from plasticity_lab.records.measures import Column

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Course:
    """of: arm → its interquartile mean with its interval at each place. places: tasks or steps; parts of the training,
    from 0 to 1, where there are several benchmarks. runs: arm → the ids of those that have a curve.
    """

    x_label: str
    y_label: str
    places: Mapping[str, Sequence[float]]
    of: Mapping[str, Sequence[Interval]]
    runs: Mapping[str, Sequence[str]]


Curves = Mapping[str, Mapping[int, float]]
"""Run → bin → value."""


def course(compared: Compared, metrics: Metrics, name: str | None) -> tuple[Course | None, list[str]]:
    """The course of what a table is of, and sentences about what has none.

    name: of the metric that is compared, which is shown where there is such a column; else what agents measure first.
    """
    shown = compared.ends if compared.task is None else (compared.task,)
    tasks = {task: arms for task, arms in compared.section.strata.items() if task in shown}
    columns = {task: _column([row for rows in arms.values() for row in rows], name) for task, arms in tasks.items()}
    read: dict[str, tuple[Curves, Mapping[int, float], bool]] = {}
    lines = []
    for task in tasks:
        column = columns[task]
        done = {arm.label: arm.cells[task].done for arm in compared.arms if task in arm.cells}
        runs = [run for of in done.values() for run in of]
        found = _read(metrics, runs, column) if column and runs else None
        if isinstance(found, str):
            lines.append(f"No curve{f' of {task}' if task else ''}: {found}.")
            continue
        if found is not None and found[0]:
            read[task] = found
        lacking = {arm: sum(run not in (found or ({},))[0] for run in of) for arm, of in done.items()}
        if said := ", ".join(f"{many} of {arm}" for arm, many in lacking.items() if many):
            lines.append(f"Runs without a curve{f' on {task}' if task else ''}: {said}.")
    if len(read) < len(tasks) or not read:
        return None, lines
    of_arm = {
        arm.label: {run for task in tasks if task in arm.cells for run in arm.cells[task].done} for arm in compared.arms
    }
    if compared.task is not None:
        return _of_one(compared, *read[compared.task], columns[compared.task], of_arm), lines
    return _of_several(compared, read, columns, of_arm), lines


def _column(rows: Sequence[Row], name: str | None) -> Column | None:
    columns = next((row.declared.curves for row in rows if row.status == "done"), ())
    return next((column for column in columns if column.name == name), next(iter(columns), None))


def _read(
    metrics: Metrics, runs: Sequence[str], column: Column
) -> tuple[Curves, Mapping[int, float], bool] | str | None:
    """The curves of runs, the place of each bin, and whether places are tasks; or why there is no curve."""
    from analysis.figures.courses import binned, extents  # Polars: half a second

    lazy: pl.LazyFrame = metrics(runs)
    bins, whole = binned(lazy, column, extents(lazy))
    if bins["body"].n_unique() > 1:
        return "its tasks are of several bodies; `figure curves` has a panel for each"
    curves: dict[str, dict[int, float]] = {}
    places: dict[int, list[float]] = {}
    for run, _, at, _, place, value in bins.iter_rows():
        curves.setdefault(run, {})[at] = value
        places.setdefault(at, []).append(place)
    return curves, {at: float(np.mean(of)) for at, of in sorted(places.items())}, whole


def _of_one(
    compared: Compared,
    curves: Curves,
    place_of: Mapping[int, float],
    whole: bool,
    column: Column | None,
    of_arm: Mapping[str, set[str]],
) -> Course:
    found, places, runs = {}, {}, {}
    for arm, ids in of_arm.items():
        runs[arm] = [run for run in curves if run in ids]
        bins = [at for at in place_of if any(at in curves[run] for run in runs[arm])]
        places[arm] = [place_of[at] for at in bins]
        found[arm] = [
            interval(np.array([curves[run][at] for run in runs[arm] if at in curves[run]]), "iqm") for at in bins
        ]
    unit = f" ({column.measure.unit})" if column and column.measure.unit else ""
    title = column.measure.title if column else ""
    return Course("task" if whole else "steps of the run", f"{title}{unit}, IQM", places, found, runs)


def _of_several(
    compared: Compared,
    read: Mapping[str, tuple[Curves, Mapping[int, float], bool]],
    columns: Mapping[str, Column | None],
    of_arm: Mapping[str, set[str]],
) -> Course:
    """Scores by parts of the training: benchmarks of other lengths have as many parts."""
    many = min(POINTS, *(len(places) for _, places, _ in read.values()))
    parts: dict[str, dict[str, list[float]]] = {}
    for task, (curves, places, _) in read.items():
        order = {at: number * many // len(places) for number, at in enumerate(places)}
        ends = _ends(compared, task, columns[task], curves, of_arm)
        for run, curve in curves.items():
            of_part: dict[int, list[float]] = {}
            for at, value in curve.items():
                of_part.setdefault(order[at], []).append(value)
            means = [float(np.mean(of_part[part])) if part in of_part else np.nan for part in range(many)]
            parts.setdefault(task, {})[run] = ends.score(means).tolist()
    found, runs = {}, {}
    for arm, ids in of_arm.items():
        runs[arm] = [run for of in parts.values() for run in of if run in ids]
        found[arm] = [
            interval(matrix([[of[run][part] for run in of if run in ids] for of in parts.values()]), "iqm")
            for part in range(many)
        ]
    places = {arm: [(part + 0.5) / many for part in range(many)] for arm in of_arm}
    return Course("part of the training", "score, IQM", places, found, runs)


def _ends(compared: Compared, task: str, column: Column | None, curves: Curves, of_arm: Mapping[str, set[str]]) -> Ends:
    """What is 0 and 1 of a curve: as of the scores, of means over the whole course."""
    means = {}
    for arm, ids in of_arm.items():
        own = [float(np.mean([*curves[run].values()])) for run in curves if run in ids]
        if own:
            means[arm] = float(np.mean(own))
    if column is None:
        return Ends(None, None, "", "", "nothing is measured along its way")
    return ends_of(compared.section, task, column.measure, means, compared.reference)
