"""The figure of a comparison: arms with their intervals, differences, performance profiles, and courses of training."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from analysis.compare.comparison import Compared, Comparison
from analysis.compare.course import Course, course
from analysis.compare.listing import measure_of, name_of
from analysis.compare.scores import score_matrix
from analysis.compare.words import short, word
from analysis.figures.asked import Metrics
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.style import MOST
from analysis.statistics.interval import Interval
from analysis.statistics.method import Method
from analysis.statistics.profiles import Profile, profile

THRESHOLDS = 101
TABLES = 12
"""Of how many tables a figure has room for panels."""
DRAWN = 2000
"""Replicates of a profile's band."""
BAND = Method("stratified percentile bootstrap", replicates=DRAWN, seed=0)


def drawing(
    found: Comparison, metrics: Metrics, name: str | None, track: Callable[[Iterable[Compared]], Iterable[Compared]]
) -> Drawing:
    """The figure.  metrics: reads what runs measured along their way. name: of the metric that is compared, where one
    was asked for. track: goes through what takes long, and shows how far it is.
    """
    dots: list[Panel] = []
    curves: list[Panel] = []
    lines = [
        "Points and curves are interquartile means (IQM) over runs, differences are of means; bars and bands are "
        "95 % intervals (Student's t); the caption of the table says how often they hold the truth.",
    ]
    profiles = False
    many = len({compared.section.words for compared in found.shown}) > 1
    for compared in track(found.shown[:TABLES]):
        head = _head(compared, many)
        dots += [_points(compared, head), _against(compared, head)]
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
        lines.append(f"There are {most} arms and {MOST} looks: some arms look alike.")
    kept = [panel for panel in [*dots, *curves] if any(len(series.x) for series in panel.series)]
    return Drawing(name_of(found.by), f"{short(found.by).capitalize()} compared", kept, lines)


def _head(compared: Compared, many: bool) -> str:
    """What a panel is about: benchmark, and the runs where there are several sections."""
    task = f"{len(compared.ends)} benchmarks" if compared.task is None else compared.task
    return " · ".join(filter(None, [task, compared.section.words if many else ""]))


def _key(compared: Compared, arm: str) -> str:
    """What the colour of an arm belongs to: activations and interventions always have their own."""
    return word(compared.section.value_of[arm]) if compared.by in ("activation", "intervention") else arm


def _dots(compared: Compared, of: Sequence[tuple[str, Interval]]) -> list[Series]:
    """A dot for each arm that has a value, with half of its interval to either side."""
    return [
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
        for arm, found in of
        if found.value is not None
    ]


def _points(compared: Compared, head: str) -> Panel:
    of = [(arm.label, compared.aggregates[arm.label]["iqm"]) for arm in compared.arms]
    series = _dots(compared, of)
    return Panel(head, _axis(compared, "IQM"), "", series, categories=[arm.label for arm in compared.arms])


def _against(compared: Compared, head: str) -> Panel:
    pairs = [(arm.label, pair.difference) for arm in compared.arms if (pair := compared.against(arm.label))]
    label = _axis(compared, f"difference of means to {compared.reference}")
    return Panel(head, label, "", _dots(compared, pairs), categories=[arm for arm, _ in pairs], zero=True)


def _axis(compared: Compared, what: str) -> str:
    measure = measure_of(compared)
    return f"{measure.label}, {what}{f' ({measure.unit})' if measure.unit else ''}"


def _profiles(compared: Compared, head: str) -> Panel:
    """The part of an arm's runs above each score, arms that lack a run of some benchmark left out."""
    scores = {arm.label: score_matrix(arm, compared.ends) for arm in compared.arms}
    finite = [of[np.isfinite(of)] for of in scores.values()]
    every = np.concatenate(finite) if finite else np.array([])
    series = []
    if len(every):
        low, high = min(0.0, float(every.min())), max(1.0, float(every.max()))
        thresholds = np.linspace(low, high, THRESHOLDS)
        for arm, of in scores.items():
            found = profile(of, thresholds, arm, replicates=DRAWN) if of.size else None
            if found is not None and found.fraction is not None:
                series.append(_profile(compared, arm, found))
    return Panel(head, "score", "part of runs above it", series, band=True)


def _profile(compared: Compared, arm: str, found: Profile) -> Series:
    nothing = [None] * len(found.thresholds)
    fraction = np.asarray(found.fraction).tolist()
    ends = list(zip(np.asarray(found.low).tolist(), np.asarray(found.high).tolist(), strict=True)) if (
        found.low is not None and found.high is not None
    ) else nothing  # fmt: skip
    return Series(
        label=arm,
        key=_key(compared, arm),
        x=found.thresholds.tolist(),
        y=fraction,
        y_range=ends,
        n=[found.shape[0]] * len(fraction),
    )


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
    return Panel(
        head,
        along.x_label,
        along.y_label,
        series,
        x_whole=along.x_label != "part of the training",
        band=True,
        labels=True,
    )
