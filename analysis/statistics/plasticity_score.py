"""The Plasticity Score: the interquartile mean of normalised returns, over seeds and environments, by activation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.statistics.bootstrap import bootstrap
from analysis.statistics.bounded import Spread, spread
from analysis.statistics.interval import Interval
from analysis.statistics.iqm import iqm
from analysis.statistics.method import BOUNDS_ANEW, PERCENTILE, Method
from analysis.statistics.normalise import FLOOR, PERCENTILES, Normalised, normalise


@dataclass(frozen=True)
class PlasticityScores:
    """scores: arm → the score with its interval; empty where `normalised.reason` says why.

    as_published: the same scores with the paper's interval, which takes the bounds for given. spread: what other runs
    would have come to, of scores whose bounds are drawn anew. normalised: the scores of runs that they are made of, the
    returns that became 0 and 1, and how many runs failed; they depend on which arms are compared, and are shown with
    every score.
    """

    scores: Mapping[str, Interval]
    as_published: Mapping[str, Interval]
    normalised: Normalised
    spread: Spread | None = None


def plasticity_scores(
    returns: Mapping[str, np.ndarray],
    floor: float = FLOOR,
    percentiles: tuple[float, float] = PERCENTILES,
    method: Method = BOUNDS_ANEW,
    published: Method | None = PERCENTILE,
) -> PlasticityScores:
    """The scores of all arms that are compared: arm → returns over the last part of each environment's last stage, (N
    seeds, M environments). method: by what their intervals are made. published: by what the paper's are, None without
    them.

    Raises ValueError as `normalise` does.  Source: the paper's Section 7, Tables 3 and F1.
    """
    normalised = normalise(returns, floor, percentiles)
    scores = normalised.scores or {}
    if not scores or method.name == PERCENTILE.name:
        made = {arm: _by_percentiles(values, arm, method) for arm, values in scores.items()}
        return PlasticityScores(made, made, normalised)
    theirs = {arm: _by_percentiles(values, arm, published) for arm, values in scores.items()} if published else {}
    cycles = {arm: np.asarray(returns[arm], dtype=np.float64)[None] for arm in scores}
    found = spread(cycles, lambda each: iqm(each[:, 0])[:, None], method, floor, percentiles)
    made = {arm: _by_student(values, found, arm, method) for arm, values in scores.items()}
    return PlasticityScores(made, theirs, normalised, found)


def bounded(value: float, half: float, runs: tuple[int, ...], method: Method) -> Interval:
    """A score with half the width of its interval, within what scores can be; NaN is said to be no interval."""
    found = Interval(value, None, None, method, runs)
    if min(runs) < 2:
        return replace(found, reason="one run has no interval")
    if np.isnan(half):
        return replace(found, reason="the runs do not differ")
    return replace(found, low=max(0.0, value - half), high=min(1.0, value + half))


def _by_student(scores: np.ndarray, found: Spread, arm: str, method: Method) -> Interval:
    (half,) = found.half_widths(arm, method.level)
    return bounded(float(iqm(scores)), float(half), (len(scores),) * scores.shape[1], method)


def _by_percentiles(scores: np.ndarray, arm: str, method: Method) -> Interval:
    """The paper's: the seeds of each environment are drawn for themselves, from scores that stay."""
    told = {"replicates": method.replicates, "level": method.level, "seed": method.seed}
    made = bootstrap(iqm, scores, name=arm, **told)
    found = Interval(made.number, None, None, method, (scores.shape[0],) * scores.shape[1], reason=made.reason)
    if made.interval is None or (np.ptp(scores, axis=0) == 0).all():
        return replace(found, reason=made.reason or "the runs do not differ")
    low, high = made.interval
    return replace(found, low=low, high=high)
