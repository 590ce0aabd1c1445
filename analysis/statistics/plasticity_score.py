"""The Plasticity Score: the interquartile mean of normalised returns, over seeds and environments, by activation.

Its bounds, the returns that count as 0 and as 1, are percentiles of the scored runs; other seeds give other bounds.
So whole runs of every arm are resampled, the bounds are taken from the resampled runs, and these runs are scored with
them. The interval is Student's t with the standard error of the resampled scores. With few runs, percentiles of the
replicates would be too narrow (tests and docs/pages/reference/coverage.md say by how much).

Legend: N runs of an arm, C cycles, M environments, R replicates, T numbers of an aggregate.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.statistics.bootstrap import bootstrap, keyed
from analysis.statistics.interval import Interval
from analysis.statistics.method import BOUNDS_ANEW, PERCENTILE, Method
from analysis.statistics.returns import FLOOR, PERCENTILES, Normalised, failed, normalise, scored
from analysis.statistics.summaries import iqm

BLOCK = 2**20
"""The number of returns drawn at once; it limits memory. Another number here gives other draws."""


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
        import scipy.special  # slow to import; see `two_groups`

        many = self.runs[arm]
        if many < 2 or len(self.replicates[arm]) < 2:
            return np.full(self.replicates[arm].shape[1:], np.nan)
        errors = self.errors(arm)
        return np.where(errors > 0, scipy.special.stdtrit(many - 1.0, 0.5 + level / 2) * errors, np.nan)

    def p_of(self, arm: str, other: str, difference: np.ndarray) -> np.ndarray:
        """Two-sided p of the test that two arms with this difference have equal numbers, (T,).

        NaN for one run, and if the replicates do not vary. Both arms share the bounds, so their difference varies less
        than with separate bounds.
        """
        import scipy.special  # slow to import; see `two_groups`

        many = min(self.runs[arm], self.runs[other])
        apart = self.replicates[arm] - self.replicates[other]
        if many < 2 or len(apart) < 2:
            return np.full(apart.shape[1:], np.nan)
        errors = _errors(apart, many)
        return np.where(errors > 0, 2 * scipy.special.stdtr(many - 1.0, -np.abs(difference) / errors), np.nan)


def _errors(replicates: np.ndarray, many: int) -> np.ndarray:
    """Standard errors for N = `many` runs, corrected: the variance over replicates is too small by (N − 1) / N."""
    return replicates.std(axis=0, ddof=1) * math.sqrt(many / (many - 1))


def spread(
    returns: Mapping[str, np.ndarray],
    aggregate: Callable[[np.ndarray], np.ndarray],
    method: Method,
    floor: float = FLOOR,
    percentiles: tuple[float, float] = PERCENTILES,
) -> Spread:
    """The replicates of an aggregate of scores.  returns: arm → (C, N, M) for its runs. Bounds are from the last cycle.

    aggregate: scores (R, C, N, M) → (R, T). method: has replicates and seed; seed and arm decide which runs are drawn.
    A replicate has no bounds and is left out if the returns in an environment do not differ.
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
    """The replicates in blocks: for each arm an array (R, C, N, M) of whole runs, drawn from the runs of this arm."""
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

    as_published: the same scores with the paper's interval, which treats the bounds as known. spread: the scores of
    the resampled runs, if bounds are resampled. normalised: the scores of single runs, the returns that became 0 and 1,
    and the number of failed runs. They depend on the compared arms and are shown with every score.
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
    """The scores of all compared arms.

    returns: arm → returns over the last part of each environment's last stage, (N seeds, M environments). method: for
    the scores' intervals. published: for the paper's intervals; None: none are computed.

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
    """A score with its interval, clipped to [0, 1].  half: half of its width; NaN: no interval."""
    found = Interval(value, None, None, method, runs)
    if min(runs) < 2:
        return replace(found, reason="one run has no interval")
    if np.isnan(half):
        return replace(found, reason="the runs do not differ")
    return replace(found, low=max(0.0, value - half), high=min(1.0, value + half))


def _by_percentiles(scores: np.ndarray, arm: str, method: Method) -> Interval:
    """The paper's interval: the seeds of each environment are resampled separately; scores are not recomputed."""
    made = bootstrap(iqm, scores, name=arm, **method.draws)
    ends = None if (np.ptp(scores, axis=0) == 0).all() else made.interval
    low, high = ends or (None, None)
    reason = made.reason or (None if ends else "the runs do not differ")
    return Interval(float(iqm(scores)), low, high, method, (scores.shape[0],) * scores.shape[1], reason=reason)
