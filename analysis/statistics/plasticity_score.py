"""The Plasticity Score: the interquartile mean of normalised returns, over seeds and environments, by activation.

Its bounds are percentiles of the runs that are scored: with other seeds, all arms' runs would be others, and so would
the returns that count as 0 and as 1. So whole runs of every arm are drawn again, the bounds are taken from the drawn
runs, and the runs are scored by them. Their standard error, with Student's t, gives the interval: percentiles of the
replicates of so few runs would be too narrow (tests and docs/statistics.md say by how much).

Legend: N runs of an arm, C cycles, M environments, R replicates, T numbers of an aggregate.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.statistics.bootstrap import bootstrap, keyed
from analysis.statistics.interval import Interval
from analysis.statistics.iqm import iqm
from analysis.statistics.method import BOUNDS_ANEW, PERCENTILE, Method
from analysis.statistics.normalise import FLOOR, PERCENTILES, Normalised, failed, normalise, scored

BLOCK = 2**20
"""How many returns are drawn at once, which bounds the memory. Another number here gives other draws."""


@dataclass(frozen=True)
class Spread:
    """replicates: arm → (R, T), only the replicates that have bounds. runs: arm → N."""

    replicates: Mapping[str, np.ndarray]
    runs: Mapping[str, int]

    def errors(self, arm: str) -> np.ndarray:
        """The standard error of each of an arm's numbers, (T,)."""
        return _errors(self.replicates[arm], self.runs[arm])

    def half_widths(self, arm: str, level: float) -> np.ndarray:
        """Half the width of the interval of each of an arm's numbers, (T,): Student's t with N − 1 degrees of freedom.

        NaN for one run, and if the replicates do not vary.
        """
        import scipy.special  # slow to import; see `welch`

        many = self.runs[arm]
        if many < 2 or len(self.replicates[arm]) < 2:
            return np.full(self.replicates[arm].shape[1:], np.nan)
        errors = self.errors(arm)
        return np.where(errors > 0, scipy.special.stdtrit(many - 1.0, 0.5 + level / 2) * errors, np.nan)

    def p_of(self, arm: str, other: str, difference: np.ndarray) -> np.ndarray:
        """Two-sided p of whether the numbers of two arms, with that difference, are the same, (T,).

        NaN for one run, and if the replicates do not vary. As the bounds are the same for both arms, their differences
        vary less than they do.
        """
        import scipy.special  # slow to import; see `welch`

        many = min(self.runs[arm], self.runs[other])
        apart = self.replicates[arm] - self.replicates[other]
        if many < 2 or len(apart) < 2:
            return np.full(apart.shape[1:], np.nan)
        errors = _errors(apart, many)
        return np.where(errors > 0, 2 * scipy.special.stdtr(many - 1.0, -np.abs(difference) / errors), np.nan)


def _errors(replicates: np.ndarray, many: int) -> np.ndarray:
    """The standard errors of numbers of that many runs. Drawn runs vary less than runs do, by (N − 1) / N."""
    return replicates.std(axis=0, ddof=1) * math.sqrt(many / (many - 1))


def spread(
    returns: Mapping[str, np.ndarray],
    aggregate: Callable[[np.ndarray], np.ndarray],
    method: Method,
    floor: float = FLOOR,
    percentiles: tuple[float, float] = PERCENTILES,
) -> Spread:
    """The replicates of an aggregate of scores: arm → returns (C, N, M) of its runs; bounds are of the last cycle.

    aggregate: scores (R, C, N, M) → (R, T). method: with replicates and seed; seed and arm decide what is drawn.
    A replicate in which some environment has no two different returns has no bounds and is left out.
    """
    arms = {name: np.asarray(each, dtype=np.float64) for name, each in returns.items()}
    found: dict[str, list[np.ndarray]] = {name: [] for name in arms}
    for drawn in _drawn(arms, method):
        last = np.concatenate([each[:, -1] for each in drawn.values()], axis=1)
        low, high = np.percentile(np.where(failed(last, floor), floor, last), percentiles, axis=1)
        whole = (high > low).all(axis=-1)
        ends = low[whole, None, None], high[whole, None, None]
        for name, each in drawn.items():
            found[name].append(aggregate(scored(each[whole], *ends, floor)))
    replicates = {name: np.concatenate(blocks) for name, blocks in found.items()}
    return Spread(replicates, {name: arm.shape[1] for name, arm in arms.items()})


def _drawn(arms: Mapping[str, np.ndarray], method: Method) -> Iterator[dict[str, np.ndarray]]:
    """The replicates, block by block: for each arm an array (R, C, N, M) of whole runs that are drawn from its own."""
    many, seed = method.replicates or 0, method.seed or 0
    size = max(1, BLOCK // sum(arm.size for arm in arms.values()))
    for first in range(0, many, size):
        block: dict[str, np.ndarray] = {}
        for name, arm in arms.items():
            runs = arm.shape[1]
            rows = keyed(seed, "runs", name, first).integers(0, runs, (min(size, many - first), runs))
            block[name] = np.moveaxis(arm[:, rows], 0, 1)
        yield block


@dataclass(frozen=True)
class PlasticityScores:
    """scores: arm → the score with its interval; empty if `normalised.reason` says why.

    as_published: the same scores with the paper's interval, which takes the bounds as known. spread: the scores of
    drawn runs, if bounds are drawn. normalised: the scores of single runs, the returns that became 0 and 1, and how
    many runs failed; they depend on which arms are compared, and are shown with every score.
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
    seeds, M environments). method: of their intervals. published: of the paper's intervals, None without them.

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
    made = {}
    for arm, values in scores.items():
        (half,) = found.half_widths(arm, method.level)
        made[arm] = bounded(float(iqm(values)), float(half), (len(values),) * values.shape[1], method)
    return PlasticityScores(made, theirs, normalised, found)


def bounded(value: float, half: float, runs: tuple[int, ...], method: Method) -> Interval:
    """A score with half the width of its interval, which is cut off at 0 and 1; NaN means that there is no interval."""
    found = Interval(value, None, None, method, runs)
    if min(runs) < 2:
        return replace(found, reason="one run has no interval")
    if np.isnan(half):
        return replace(found, reason="the runs do not differ")
    return replace(found, low=max(0.0, value - half), high=min(1.0, value + half))


def _by_percentiles(scores: np.ndarray, arm: str, method: Method) -> Interval:
    """The paper's: the seeds of each environment are drawn separately, from scores that stay."""
    made = bootstrap(iqm, scores, name=arm, **method.draws)
    ends = None if (np.ptp(scores, axis=0) == 0).all() else made.interval
    low, high = ends or (None, None)
    reason = made.reason or (None if ends else "the runs do not differ")
    return Interval(float(iqm(scores)), low, high, method, (scores.shape[0],) * scores.shape[1], reason=reason)
