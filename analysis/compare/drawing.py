"""The figure of a comparison: arms with their intervals, differences, performance profiles, and courses of training."""

from collections.abc import Iterable, Sequence

import numpy as np

from analysis.compare.comparison import Compared, Comparison
from analysis.compare.course import Course, course
from analysis.compare.listing import name_of
from analysis.compare.scores import score_matrix
from analysis.compare.setting import short, word
from analysis.figures.drawing import Drawing, Metrics, Panel, Series, with_unit
from analysis.figures.style import MOST
from analysis.statistics.interval import Interval
from analysis.statistics.method import Method
from analysis.statistics.profiles import profile

THRESHOLDS = 101
TABLES = 12
"""The number of tables that get panels in the figure, at most."""
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
        "95 % intervals (Student's t); the caption of the table says how often they hold the truth.",
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
        along, said = course(compared, metrics, name)
        lines += said
        if along:
            curves.append(_course(compared, along, head))
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
    """A dot for each arm that has a value, with half of its interval to either side."""
    series = [
        Series(
            label=arm,
            key=_key(compared, arm),
            x=[found.value],
            x_sd=[None if found.ends is None else (found.ends[1] - found.ends[0]) / 2],
            y=[arm],
            n=[min(found.runs, default=0)],
            joined=False,
            marker="own",
            listed=False,
        )
        for arm, found in values
        if found.value is not None
    ]
    label = with_unit(f"{compared.measure.label}, {what}", compared.measure)
    return Panel(head, label, "", series, categories=[arm for arm, _ in values], zero=zero)


def _profiles(compared: Compared, head: str) -> Panel:
    """The part of an arm's runs above each score, without arms that lack a run of some benchmark."""
    scores = {arm.label: score_matrix(arm, compared.ends) for arm in compared.arms}
    every = np.concatenate([of[np.isfinite(of)] for of in scores.values()]) if scores else np.array([])
    series = []
    if len(every):
        low, high = min(0.0, float(every.min())), max(1.0, float(every.max()))
        thresholds = np.linspace(low, high, THRESHOLDS)
        for arm, of in scores.items():
            found = profile(of, thresholds, arm, replicates=DRAWN) if of.size else None
            if found is None or found.fraction is None:
                continue
            band = zip(found.low, found.high, strict=True) if found.low is not None and found.high is not None else ()
            series.append(
                Series(
                    label=arm,
                    key=_key(compared, arm),
                    x=thresholds.tolist(),
                    y=found.fraction.tolist(),
                    y_range=[(float(low), float(high)) for low, high in band] or [None] * THRESHOLDS,
                    n=[found.shape[0]] * THRESHOLDS,
                )
            )
    return Panel(head, "score", "part of runs above it", series, band=True)


def _course(compared: Compared, along: Course, head: str) -> Panel:
    series = [
        Series(
            label=arm,
            key=_key(compared, arm),
            x=along.places[arm],
            y=[np.nan if of.value is None else of.value for of in found],
            y_range=[of.ends for of in found],
            n=[min(of.runs, default=0) for of in found],
            runs=along.runs[arm],
        )
        for arm, found in along.of.items()
        if any(of.value is not None for of in found)
    ]
    whole = along.x_label != "part of the training"
    return Panel(head, along.x_label, along.y_label, series, x_whole=whole, band=True, labels=True)
