"""The paired t-test, for arms that share their streams: the same seeds met the same tasks in the same order.

What a seed's tasks do to both arms alike cancels in their difference, so that smaller differences are seen than by
Welch's test. It needs the same seeds on both sides.
"""

from dataclasses import dataclass

import numpy as np

from analysis.statistics.sample import Values, sample, why_not

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
    import scipy.stats  # slow to import; see `welch`

    a, b = sample(ours), sample(theirs)
    if len(a) != len(b):
        raise ValueError(f"Pairs need the same seeds on both sides; there are {len(a)} and {len(b)} values.")
    reason = why_not([a, b], least=2)
    if reason is None and np.ptp(a - b) <= ROUNDING * np.abs([a, b]).max():
        reason = "no variance in the differences"
    if reason:
        return Paired(None, None, None, None, None, len(a), reason)
    found = scipy.stats.ttest_rel(a, b)
    interval = found.confidence_interval(level)
    return Paired(
        float((a - b).mean()),
        float(interval.low),
        float(interval.high),
        float(found.statistic),
        float(found.pvalue),
        len(a),
    )
