"""Figure 6: the Plasticity Score of each activation after each stage of a cycle of bodies."""

from collections.abc import Iterator

import numpy as np

from analysis.figures.asked import Asked
from analysis.figures.cycles import Arm, Cycled, body_name, cycled
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.style import MOST
from analysis.statistics.bootstrap import bootstrap
from analysis.statistics.iqm import iqm
from analysis.statistics.method import Method, shared
from analysis.statistics.normalise import Normalised, normalise, scored
from plasticity_lab.errors import ConfigError

WHAT = (
    "Interquartile mean over seeds of the return over the last 15 % of each stage, normalised; the band is its {}. "
    "0 and 1 are percentiles {:g} and {:g} of the runs shown, in the last cycle; a return below "
    "{:g}, or one that is not finite, is a failure and scores 0."
)


def figure_6(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError where no run has finished a cycle of bodies, or there is no score."""
    panels, said, reasons = [], [], []
    for found in cycled(asked):
        made = normalise({arm.label: arm.returns[-1, 0] for arm in found.arms})
        if made.scores is None:
            alike = [body_name(body) for body, low, high in _ends(found, made) if high <= low]
            reasons.append(f"{found.title} has no score: all runs return the same with {', '.join(alike)}.")
            continue
        method = shared(row.methods for row in found.rows)["score"]
        said += [words for words in [WHAT.format(method.words, *made.percentiles, made.floor)] if words not in said]
        panels.append(_panel(found, made, method))
        said += [_bounds(found, made), *found.caption]
    if not panels:
        raise ConfigError(" ".join(reasons))
    return Drawing("figure6", "Plasticity score over the cycles", panels, [*said, *reasons])


def _panel(found: Cycled, made: Normalised, method: Method) -> Panel:
    lines = sorted(
        (_line(arm, made, method) for arm in found.arms),
        key=lambda line: -np.mean([float(y) for y in line.y[-len(found.bodies) :]]),
    )
    return Panel(
        title=found.title,
        x_label=f"stage: {', '.join(map(body_name, found.bodies))} in turn",
        y_label="plasticity score",
        series=lines[:MOST],
        x_whole=True,
        band=True,
        labels=True,
    )


def _line(arm: Arm, made: Normalised, method: Method) -> Series:
    scores_SN = np.moveaxis(scored(arm.returns[:, 0], *made.bounds, made.floor), 1, 2).reshape(-1, len(arm.runs))
    told = {"replicates": method.replicates, "level": method.level, "seed": method.seed}
    found = [bootstrap(iqm, scores[:, None], name=f"{arm.label} {at}", **told) for at, scores in enumerate(scores_SN)]
    return Series(
        label=arm.label,
        key=arm.activation,
        x=[*range(1, len(found) + 1)],
        y=[estimate.number for estimate in found],
        y_range=[estimate.interval for estimate in found],
        n=[len(arm.runs)] * len(found),
        runs=arm.runs,
    )


def _bounds(found: Cycled, made: Normalised) -> str:
    ends = (f"{body_name(body)} {low:,.1f} and {high:,.1f}" for body, low, high in _ends(found, made))
    return f"0 and 1 are {', '.join(ends)}."


def _ends(found: Cycled, made: Normalised) -> Iterator[tuple[str, float, float]]:
    """Each body, with the returns that became 0 and 1."""
    return zip(found.bodies, *made.bounds, strict=True)
