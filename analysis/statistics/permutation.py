"""The permutation test: whether two groups of runs have the same law, however skewed or gapped it is."""

import math

import numpy as np

from analysis.statistics.bootstrap import keyed
from analysis.statistics.summaries import Values, sample

EXACT = 20_000
"""Up to this many divisions of the runs into two groups, all of them are counted."""
DIGITS = 9
"""Differences that agree to this many digits of the spread are ties: their sums are rounded differently."""


def permutation(ours: Values, theirs: Values, replicates: int = 9_999, seed: int = 0) -> float | None:
    """The two-sided p of the difference of means (n,), (m,), among all divisions of the runs into groups of n and m.

    If both groups have one law, p is below a level at most as often as the level says, with any law and any number of
    runs. It says nothing about means of different laws. Three runs against three have no p below 0.1.
    Above `EXACT` divisions, `replicates` of them are drawn, and the given division counts as one more.

    None for a group of fewer than two runs or a value that is not finite.  Source: Fisher 1935; Phipson and Smyth 2010
    for the draws. SciPy's two-sided p doubles the smaller tail; here both tails count as they are.
    """
    import scipy.stats  # slow to import; see `two_groups`

    a, b = sample(ours), sample(theirs)
    pooled = np.concatenate([a, b])
    if min(len(a), len(b)) < 2 or not np.isfinite(pooled).all():
        return None
    if np.ptp(pooled) == 0:
        return 1.0
    off = (pooled - pooled.mean()) / np.ptp(pooled)

    def apart(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
        return np.round(np.abs(first.mean(axis) - second.mean(axis)), DIGITS)

    found = scipy.stats.permutation_test(
        (off[: len(a)], off[len(a) :]),
        apart,
        vectorized=True,
        n_resamples=EXACT if math.comb(len(pooled), len(a)) <= EXACT else replicates,
        alternative="greater",
        rng=keyed(seed, "permutation", len(a), len(b)),
    )
    return float(found.pvalue)
