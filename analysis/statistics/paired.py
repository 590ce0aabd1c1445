"""The paired t-test, for arms that share their streams: the same seeds met the same tasks in the same order.

What a seed's tasks do to both arms alike cancels in their difference, so that smaller differences are seen than by
Welch's test. It needs the same seeds on both sides.
"""

import math
from dataclasses import dataclass

import numpy as np

from analysis.statistics.sample import Values, sample, variance, why_not

ROUNDING = 1e-13
"""Differences that vary by less than this part of the values vary by rounding alone."""


@dataclass(frozen=True)
class Paired:
    """The mean difference with its interval, t, two-sided p and the number of pairs; None where `reason` says why."""

    difference: float | None
    low: float | None
    high: float | None
    t: float | None
    p: float | None
    n: int
    reason: str | None = None


def paired(ours: Values, theirs: Values, level: float = 0.95) -> Paired:
    """Two-sided test that ours less theirs, (n,), (n,) in the same order of seeds, has the mean 0.

    No p for fewer than two pairs, for values that are not finite, nor where all differences are the same.
    Raises ValueError for lists of different lengths.  Source: `scipy.stats.ttest_rel`.
    """
    a, b = sample(ours), sample(theirs)
    if len(a) != len(b):
        raise ValueError(f"Pairs need the same seeds on both sides; there are {len(a)} and {len(b)} values.")
    reason = why_not([a, b], least=2)
    if reason is None and np.ptp(a - b) <= ROUNDING * np.abs([a, b]).max():
        reason = "no variance in the differences"
    if reason:
        return Paired(None, None, None, None, None, len(a), reason)
    import scipy.special  # slow to import; see `welch`

    differences, tail = a - b, (1 - level) / 2
    mean, error = float(differences.mean()), math.sqrt(variance(differences) / len(a))
    low, high = (float(scipy.special.stdtrit(len(a) - 1, p)) * error + mean for p in (tail, 1 - tail))
    t = mean / error
    return Paired(mean, low, high, t, float(2 * scipy.special.stdtr(len(a) - 1, -abs(t))), len(a))
