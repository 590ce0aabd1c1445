"""The figure of a comparison: arms with their intervals, differences, performance profiles, and courses of training."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.compare.comparison import Compared, Comparison, range_of
from analysis.compare.listing import name_of
from analysis.compare.scores import Ends, ends_of, matrix, score_matrix
from analysis.compare.setting import short, word
from analysis.figures.drawing import Drawing, Panel, Series, with_unit
from analysis.figures.style import MOST, POINTS
from analysis.statistics.bootstrap import profile
from analysis.statistics.interval import Interval, interval
from analysis.statistics.method import LOGIT, Method
from analysis.tables.table import Metrics
from plasticity_lab.records.measures import Column

THRESHOLDS = 101
TABLES = 12
"""The number of tables that get panels in the figure, at most."""
SCORES = "scores"
"""The place of panels with scores over several benchmarks."""
DRAWN = 2000
"""Replicates of a profile's band."""
BAND = Method("stratified percentile bootstrap", replicates=DRAWN, seed=0)


def drawing(found: Comparison, metrics: Metrics, name: str | None, tables: Iterable[Compared]) -> Drawing:
    """The figure of a comparison.

    metrics: reads the metrics.parquet of runs. name: the compared metric, if one was named. tables: the first `TABLES`
    tables of the comparison.
    """
    dots: list[Panel] = []
    curves: list[Panel] = []
    lines = [
        "Points and curves are interquartile means (IQM) over runs, differences are of means; bars and bands are "
        "95 % intervals (Student's t, on the logit scale if it would leave 0 to 100 %); the caption of the table says "
        "how often they hold the truth.",
    ]
    profiles = False
    several = len({compared.section.words for compared in found.shown}) > 1
    for compared in tables:
        head = f"{len(compared.ends)} benchmarks" if compared.task is None else compared.task
        head = " · ".join(filter(None, [head, compared.section.words if several else ""]))
        middles = [(arm.label, compared.aggregates[arm.label]["iqm"]) for arm in compared.arms]
        differences = [(pair.ours, pair.difference) for pair in compared.against_reference]
        dots.append(_dots(compared, head, "IQM", middles))
        dots.append(_dots(compared, head, f"difference of means to {compared.reference}", differences, zero=True))
        if compared.task is None:
            curves.append(_profiles(compared, head))
            profiles = True
        panel, said = _courses(compared, metrics, name, head)
        lines += said
        curves += [panel] if panel else []
    if profiles:
        lines.append(
            f"Profiles: the part of an arm's runs that score more; their bands are, point by point, the {BAND.words}."
        )
    if len(found.shown) > TABLES:
        lines.append(f"The figure has the first {TABLES} of {len(found.shown)} tables; --where chooses others.")
    most = max(len(compared.arms) for compared in found.shown)
    if most > MOST:
        lines.append(f"There are {most} arms and {MOST} styles: some arms share a style.")
    kept = [panel for panel in [*dots, *curves] if any(len(series.x) for series in panel.series)]
    return Drawing(name_of(found.by), f"{short(found.by).capitalize()} compared", kept, lines)


def _key(compared: Compared, arm: str) -> str:
    """The name that decides an arm's colour. Activations and interventions have the same colour in all figures."""
    return word(compared.section.value_of[arm]) if compared.by in ("activation", "intervention") else arm


def _dots(
    compared: Compared, head: str, what: str, values: Sequence[tuple[str, Interval]], zero: bool = False
) -> Panel:
    """A dot for each arm that has a value, with its interval."""
    series = []
    for arm, middle in values:
        if middle.value is not None:
            half = None if middle.ends is None else (middle.ends[1] - middle.ends[0]) / 2
            key, n = _key(compared, arm), [min(middle.runs, default=0)]
            spread: dict[str, Any] = {"x_sd": [half]}
            if middle.method.name.endswith(LOGIT):
                spread = {"x_range": [middle.ends]}
            dot = Series(arm, key, [middle.value], [arm], n, **spread, joined=False, marker="own", listed=False)
            series.append(dot)
    measure = compared.measure.of_difference if zero else compared.measure
    label = with_unit(f"{measure.label}, {what}", measure)
    categories = [arm for arm, _ in values]
    return Panel(head, label, "", series, categories=categories, zero=zero, place=compared.task or SCORES)


def _profiles(compared: Compared, head: str) -> Panel:
    """The part of an arm's runs above each score, without arms that lack a run of some benchmark."""
    scores = {arm.label: score_matrix(arm, compared.ends) for arm in compared.arms}
    every = np.concatenate([of_arm[np.isfinite(of_arm)] for of_arm in scores.values()]) if scores else np.array([])
    series = []
    if len(every):
        thresholds = np.linspace(min(0.0, float(every.min())), max(1.0, float(every.max())), THRESHOLDS)
        for arm, of_arm in scores.items():
            found = profile(of_arm, thresholds, arm, replicates=DRAWN) if of_arm.size else None
            if found is None or found.value is None:
                continue
            y, ends = np.asarray(found.value).tolist(), [None] * THRESHOLDS
            if found.low is not None and found.high is not None:
                ends = [(low, high) for low, high in np.stack([found.low, found.high], axis=1).tolist()]
            n = [len(of_arm)] * THRESHOLDS
            series.append(Series(arm, _key(compared, arm), thresholds.tolist(), y, n, y_range=ends))
    return Panel(head, "score", "part of runs above it", series, band=True)


@dataclass(frozen=True)
class _Curves:
    """The curves on one benchmark.  of_run: run → bin → value. places: bin → place. whole: whether places are tasks."""

    column: Column
    of_run: Mapping[str, Mapping[int, float]]
    places: Mapping[int, float]
    whole: bool


def _courses(compared: Compared, metrics: Metrics, name: str | None, head: str) -> tuple[Panel | None, list[str]]:
    """The panel of courses: each arm's interquartile mean at each part of the training; and sentences.

    The sentences name the runs without a curve. name: the compared metric; it is shown if a column has this name,
    otherwise the agents' first column.
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
        return _of_one(compared, head, read[compared.task], of_arm), lines
    return _of_several(compared, head, read, of_arm), lines


def _column(compared: Compared, task: str, name: str | None) -> Column | None:
    rows = [row for rows in compared.section.strata[task].values() for row in rows]
    columns = next((row.declared.curves for row in rows if row.status == "done"), ())
    return next((column for column in columns if column.name == name), next(iter(columns), None))


def _read(metrics: Metrics, runs: Sequence[str], column: Column) -> _Curves | str:
    """The curves of runs, or the reason why they cannot be drawn."""
    from analysis.figures.courses import binned, extents  # Polars: half a second

    lazy = metrics(runs)
    bins, whole = binned(lazy, column, extents(lazy))
    if bins["body"].n_unique() > 1:
        return "its tasks are of several bodies; `figure curves` has a panel for each"
    curves: dict[str, dict[int, float]] = {}
    places: dict[int, list[float]] = {}
    for run, _, at, _, place, value in bins.iter_rows():
        curves.setdefault(run, {})[at] = value
        places.setdefault(at, []).append(place)
    return _Curves(column, curves, {at: float(np.mean(of)) for at, of in sorted(places.items())}, whole)


def _of_one(compared: Compared, head: str, curves: _Curves, of_arm: Mapping[str, set[str]]) -> Panel:
    """The courses on one benchmark, by task or by step."""
    series, measure = [], curves.column.measure
    for arm, ids in of_arm.items():
        kept = {run: curve for run, curve in curves.of_run.items() if run in ids}
        bins = [at for at in curves.places if any(at in curve for curve in kept.values())]
        of_bin = [np.array([curve[at] for curve in kept.values() if at in curve]) for at in bins]
        middles = [interval(values, "iqm", within=range_of(measure)) for values in of_bin]
        series += _course(compared, arm, [curves.places[at] for at in bins], middles, [*kept])
    x_label, y_label = "task" if curves.whole else "steps of the run", f"{with_unit(measure.title, measure)}, IQM"
    place = compared.task or ""
    return Panel(head, x_label, y_label, series, x_whole=True, band=True, labels=True, place=place)


def _of_several(compared: Compared, head: str, read: Mapping[str, _Curves], of_arm: Mapping[str, set[str]]) -> Panel:
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
    places, series = [(part + 0.5) / many for part in range(many)], []
    for arm, ids in of_arm.items():
        kept = [{run: scores for run, scores in of_run.items() if run in ids} for of_run in parts.values()]
        columns = [[[scores[part] for scores in of_run.values()] for of_run in kept] for part in range(many)]
        middles = [interval(matrix(column), "iqm") for column in columns]
        series += _course(compared, arm, places, middles, [run for of_run in kept for run in of_run])
    return Panel(head, "part of the training", "score, IQM", series, band=True, labels=True, place=SCORES)


def _course(
    compared: Compared, arm: str, places: Sequence[float], middles: Sequence[Interval], runs: Sequence[str]
) -> list[Series]:
    """The line of an arm, if it has a value."""
    if all(middle.value is None for middle in middles):
        return []
    y = [np.nan if middle.value is None else middle.value for middle in middles]
    n, ends = [min(middle.runs, default=0) for middle in middles], [middle.ends for middle in middles]
    return [Series(arm, _key(compared, arm), places, y, n, y_range=ends, runs=runs)]


def _ends(compared: Compared, task: str, curves: _Curves, of_arm: Mapping[str, set[str]]) -> Ends:
    """The values that become 0 and 1 on a curve, by the rules of the scores, from means over the whole curve."""
    compared_runs = set().union(*of_arm.values())
    means = [float(np.mean([*curve.values()])) for run, curve in curves.of_run.items() if run in compared_runs]
    return ends_of(compared.section, task, curves.column.measure, means)
