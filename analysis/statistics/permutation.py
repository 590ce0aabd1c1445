"""The permutation test: whether two groups of runs have the same law, however skewed or gapped it is."""

import itertools
import math

import numpy as np

from analysis.statistics.bootstrap import keyed
from analysis.statistics.summaries import Values, sample

EXACT = 20_000
"""Up to this many divisions of the runs into two groups, all of them are counted."""


def permutation(ours: Values, theirs: Values, replicates: int = 9_999, seed: int = 0) -> float | None:
    """The two-sided p of the difference of means (n,), (m,), among all divisions of the runs into groups of n and m.

    If both groups have one law, p is below a level at most as often as the level says, with any law and any number of
    runs. It says nothing about means of different laws. Three runs against three have no p below 0.1.
    Above `EXACT` divisions, `replicates` of them are drawn, and the given division counts as one more.

    None for an empty group or a value that is not finite.  Source: Fisher 1935; Phipson and Smyth 2010 for the draws.
    """
    a, b = sample(ours), sample(theirs)
    pooled = np.concatenate([a, b])
    if not len(a) or not len(b) or not np.isfinite(pooled).all():
        return None
    off = pooled - pooled.mean()
    bound = abs(off[: len(a)].sum()) * (1 - 1e-9)  # ties count although their sums are rounded differently
    if math.comb(len(pooled), len(a)) <= EXACT:
        sums = off[np.array([*itertools.combinations(range(len(pooled)), len(a))])].sum(axis=1)
        return float((np.abs(sums) >= bound).mean())
    drawn = keyed(seed, "permutation", len(a), len(b)).permuted(np.tile(off, (replicates, 1)), axis=1)
    return float((1 + (np.abs(drawn[:, : len(a)].sum(axis=1)) >= bound).sum()) / (1 + replicates))
