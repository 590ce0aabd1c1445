"""The paired t-test, for arms that share their streams: the same seeds met the same tasks in the same order.

A seed's tasks affect both arms equally, which cancels in the difference. So it detects smaller differences than Welch's
test. It needs the same seeds on both sides.
"""

import math
from dataclasses import dataclass

import numpy as np

from analysis.statistics.summaries import Values, pairs, variance, why_not
from analysis.statistics.welch import two_sided

ROUNDING = 1e-13
"""If differences vary by at most this fraction of the values, only rounding makes them vary."""


@dataclass(frozen=True)
class Paired:
    """The number of pairs, the mean difference, t and two-sided p; numbers are None if `reason` says why."""

    n: int
    difference: float | None = None
    t: float | None = None
    p: float | None = None
    reason: str | None = None


def paired(ours: Values, theirs: Values) -> Paired:
    """Two-sided test that the differences ours − theirs, (n,), (n,) in the same order of seeds, have the mean 0.

    No p for fewer than two pairs, for values that are not finite, nor if all differences are the same.
    Raises ValueError for lists of different lengths.  Source: `scipy.stats.ttest_rel`.
    """
    a, b = pairs(ours, theirs, "The paired test, which compares the same seeds,")
    n = len(a)
    reason = why_not([a, b], least=2)
    if reason is None and np.ptp(a - b) <= ROUNDING * np.abs([a, b]).max():
        reason = "no variance in the differences"
    if reason:
        return Paired(n, reason=reason)
    mean, error = float((a - b).mean()), math.sqrt(variance(a - b) / n)
    t = mean / error
    return Paired(n, mean, t, two_sided(t, n - 1))
