"""The course of arms: the interquartile mean of all runs, at each part of the training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.compare.comparison import Compared
from analysis.compare.scores import Ends, ends_of, matrix
from analysis.figures.drawing import Metrics, with_unit
from analysis.figures.style import POINTS
from analysis.statistics.interval import Interval, interval
from plasticity_lab.records.measures import Column

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Course:
    """of: arm → its interquartile mean with its interval at each place. places: tasks or steps; for several benchmarks,
    parts of the training from 0 to 1. runs: arm → ids of its runs with a curve.
    """

    x_label: str
    y_label: str
    places: Mapping[str, Sequence[float]]
    of: Mapping[str, Sequence[Interval]]
    runs: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class _Curves:
    """The curves on one benchmark.  of_run: run → bin → value. places: bin → place. whole: whether places are tasks."""

    column: Column
    of_run: Mapping[str, Mapping[int, float]]
    places: Mapping[int, float]
    whole: bool


def course(compared: Compared, metrics: Metrics, name: str | None) -> tuple[Course | None, list[str]]:
    """The course of the compared runs, and sentences about runs without one.

    name: the compared metric; it is shown if a column has this name, otherwise the agents' first column.
    """
    tasks = [task for task in compared.section.strata if task in compared.ends or task == compared.task]
    read: dict[str, _Curves] = {}
    lines = []
    for task in tasks:
        column = _column(compared, task, name)
        done = {arm.label: arm.cells[task].done for arm in compared.arms if task in arm.cells}
        runs = [run for of in done.values() for run in of]
        found = _read(metrics, runs, column) if column and runs else None
        if isinstance(found, str):
            lines.append(f"No curve{f' of {task}' if task else ''}: {found}.")
            continue
        known = found.of_run if found else {}
        if found and known:
            read[task] = found
        lacking = {arm: sum(run not in known for run in of) for arm, of in done.items()}
        if said := ", ".join(f"{many} of {arm}" for arm, many in lacking.items() if many):
            lines.append(f"Runs without a curve{f' on {task}' if task else ''}: {said}.")
    if len(read) < len(tasks) or not read:
        return None, lines
    of_arm = {arm.label: {run for cell in arm.cells.values() for run in cell.done} for arm in compared.arms}
    if compared.task is not None:
        return _of_one(read[compared.task], of_arm), lines
    return _of_several(compared, read, of_arm), lines


def _column(compared: Compared, task: str, name: str | None) -> Column | None:
    rows = [row for rows in compared.section.strata[task].values() for row in rows]
    columns = next((row.declared.curves for row in rows if row.status == "done"), ())
    return next((column for column in columns if column.name == name), next(iter(columns), None))


def _read(metrics: Metrics, runs: Sequence[str], column: Column) -> _Curves | str:
    """The curves of runs, or the reason why they cannot be drawn."""
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
    return _Curves(column, curves, {at: float(np.mean(of)) for at, of in sorted(places.items())}, whole)


def _of_one(curves: _Curves, of_arm: Mapping[str, set[str]]) -> Course:
    found, places, runs = {}, {}, {}
    for arm, ids in of_arm.items():
        own = {run: curve for run, curve in curves.of_run.items() if run in ids}
        bins = [at for at in curves.places if any(at in curve for curve in own.values())]
        places[arm] = [curves.places[at] for at in bins]
        found[arm] = [interval(np.array([curve[at] for curve in own.values() if at in curve]), "iqm") for at in bins]
        runs[arm] = [*own]
    measure = curves.column.measure
    label = f"{with_unit(measure.title, measure)}, IQM"
    return Course("task" if curves.whole else "steps of the run", label, places, found, runs)


def _of_several(compared: Compared, read: Mapping[str, _Curves], of_arm: Mapping[str, set[str]]) -> Course:
    """Scores by parts of the training; every benchmark has the same number of parts, whatever its length."""
    many = min(POINTS, *(len(curves.places) for curves in read.values()))
    parts: dict[str, dict[str, list[float]]] = {}
    for task, curves in read.items():
        order = {at: number * many // len(curves.places) for number, at in enumerate(curves.places)}
        ends = _ends(compared, task, curves, of_arm)
        for run, curve in curves.of_run.items():
            of_part: dict[int, list[float]] = {}
            for at, value in curve.items():
                of_part.setdefault(order[at], []).append(value)
            means = [float(np.mean(of_part[part])) if part in of_part else np.nan for part in range(many)]
            parts.setdefault(task, {})[run] = ends.score(means).tolist()
    found, runs = {}, {}
    for arm, ids in of_arm.items():
        own = [[scores for run, scores in of.items() if run in ids] for of in parts.values()]
        runs[arm] = [run for of in parts.values() for run in of if run in ids]
        found[arm] = [interval(matrix([[scores[part] for scores in of] for of in own]), "iqm") for part in range(many)]
    places = {arm: [(part + 0.5) / many for part in range(many)] for arm in of_arm}
    return Course("part of the training", "score, IQM", places, found, runs)


def _ends(compared: Compared, task: str, curves: _Curves, of_arm: Mapping[str, set[str]]) -> Ends:
    """The values that become 0 and 1 on a curve, by the rules of the scores, from means over the whole curve."""
    means = {}
    for arm, ids in of_arm.items():
        own = [float(np.mean([*curve.values()])) for run, curve in curves.of_run.items() if run in ids]
        if own:
            means[arm] = float(np.mean(own))
    return ends_of(compared.section, task, curves.column.measure, means, compared.reference)
