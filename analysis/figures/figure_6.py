"""Figure 6: the Plasticity Score of each activation after each stage of a cycle of bodies."""

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.figures.cycles import Cycled, body_name, cycled
from analysis.figures.drawing import Asked, Drawing, Panel, Series
from analysis.figures.style import MOST
from analysis.statistics.interval import Interval, interval
from analysis.statistics.iqm import iqm
from analysis.statistics.method import MANY, PERCENTILE, Method, Methods, shared, with_coverage
from analysis.statistics.normalise import Normalised, normalise, scored
from analysis.statistics.plasticity_score import bounded, spread
from analysis.tables.scores import PUBLISHED
from plasticity_lab.errors import ConfigError

WHAT = (
    "Interquartile mean over seeds of the return over the last 15 % of each stage, normalised; the band is its {}{}. "
    "0 and 1 are percentiles {:g} and {:g} of the runs shown, in the last cycle; a return below "
    "{:g}, or one that is not finite, is a failure and scores 0."
)


def figure_6(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError if no run has finished a cycle of bodies, or no score exists."""
    panels, said, reasons = [], [], []
    for found in cycled(asked):
        made = normalise({arm.label: arm.returns[-1, 0] for arm in found.arms})
        if made.scores is None:
            alike = [body_name(body) for body, low, high in _ends(found, made) if high <= low]
            reasons.append(f"{found.title} has no score: all runs return the same with {', '.join(alike)}.")
            continue
        methods = shared(row.methods for row in found.rows)
        panels += _panels(found, made, methods)
        words = WHAT.format(*_bands(found, methods), *made.percentiles, made.floor)
        said += [words] if words not in said else []
        ends = (f"{body_name(body)} {low:,.1f} and {high:,.1f}" for body, low, high in _ends(found, made))
        said += [f"0 and 1 are {', '.join(ends)}.", *found.caption]
    if not panels:
        raise ConfigError(" ".join(reasons))
    return Drawing("figure6", "Plasticity score over the cycles", panels, [*said, *reasons])


def _bands(found: Cycled, methods: Methods) -> tuple[str, str]:
    """The words for the band, and for the band of the panel with the paper's intervals."""
    method, published = methods["score"], methods.get("published", PERCENTILE)
    runs = min((len(arm.runs) for arm in found.arms if len(arm.runs) > 1), default=MANY)
    ours, theirs = (with_coverage(each, "score", runs, 1) for each in (method, published))
    beside = f"; {PUBLISHED}, the paper's {theirs}, which takes the bounds for given"
    return ours, beside * (method.name != PERCENTILE.name)


def _panels(found: Cycled, made: Normalised, methods: Methods) -> list[Panel]:
    """The scores with their bands, and with the paper's bands."""
    method, published = methods["score"], methods.get("published", PERCENTILE)
    if method.name == PERCENTILE.name:
        return [_panel(found, found.title, _published(found, made, method))]
    return [
        _panel(found, found.title, _by_student(found, made, method)),
        _panel(found, f"{found.title}: {PUBLISHED}", _published(found, made, published)),
    ]


def _panel(found: Cycled, title: str, stages: Sequence[Sequence[Interval]]) -> Panel:
    """stages: the score of each stage, for each arm."""
    lines = []
    for arm, scores in zip(found.arms, stages, strict=True):
        x, y = [*range(1, len(scores) + 1)], [score.number for score in scores]
        n, ends = [len(arm.runs)] * len(scores), [score.ends for score in scores]
        lines.append(Series(arm.label, arm.activation, x, y, n, y_range=ends, runs=arm.runs))
    lines.sort(key=lambda line: -np.mean([float(y) for y in line.y[-len(found.bodies) :]]))
    label = f"stage: {', '.join(map(body_name, found.bodies))} in turn"
    return Panel(title, label, "plasticity score", lines[:MOST], x_whole=True, band=True, labels=True)


def _by_student(found: Cycled, made: Normalised, method: Method) -> list[list[Interval]]:
    """The scores, with bounds resampled together with the runs."""
    returns = {arm.label: arm.returns[:, 0] for arm in found.arms}
    drawn = spread(returns, _stages, method, made.floor, made.percentiles)
    intervals = []
    for arm in found.arms:
        values = _stages(scored(arm.returns[:, 0], *made.bounds, made.floor)[None])[0]
        halves = drawn.half_widths(arm.label, method.level)
        runs = (len(arm.runs),)
        intervals.append([bounded(float(v), float(half), runs, method) for v, half in zip(values, halves, strict=True)])
    return intervals


def _stages(scores_RCNM: np.ndarray) -> np.ndarray:
    """The interquartile mean over seeds of each stage: (R, C, N, M) → (R, C · M)."""
    each = iqm(np.moveaxis(scores_RCNM, 2, 3)[..., None])  # (R, C, M, N, 1) → (R, C, M)
    return each.reshape(len(each), -1)


def _published(found: Cycled, made: Normalised, method: Method) -> list[list[Interval]]:
    """The scores with the paper's intervals: runs are resampled, their scores are not recomputed."""
    intervals = []
    for arm in found.arms:
        scores_SN = np.moveaxis(scored(arm.returns[:, 0], *made.bounds, made.floor), 1, 2).reshape(-1, len(arm.runs))
        intervals.append(
            [interval(scores, "iqm", method, name=f"{arm.label} {at}") for at, scores in enumerate(scores_SN)]
        )
    return intervals


def _ends(found: Cycled, made: Normalised) -> Iterator[tuple[str, float, float]]:
    """Each body, with the returns that became 0 and 1."""
    return zip(found.bodies, *made.bounds, strict=True)
