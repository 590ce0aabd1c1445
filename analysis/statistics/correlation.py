"""Pearson's correlation, with its p and interval."""

from dataclasses import dataclass
from typing import Any

from analysis.statistics.summaries import Values, constant, pairs, why_not


@dataclass(frozen=True)
class Correlation:
    """n pairs, r, two-sided p, and the interval of the true correlation; numbers are None if `reason` says why.

    Three pairs have r and p, and no interval.
    """

    n: int
    r: float | None = None
    p: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


def pearson(x: Values, y: Values) -> Correlation:
    """The correlation of the pairs (n,), (n,).

    p: exact for normal values. Interval, of 95 %: Fisher's z = artanh r ± quantile / √(n − 3), which needs four pairs.
    Source: Fisher 1921, as in `scipy.stats.pearsonr`.  Raises ValueError for lists of different lengths.
    """
    import scipy.stats  # slow to import; see `welch`

    a, b = pairs(x, y, "A correlation")
    n = len(a)
    reason = "fewer than three pairs" if n < 3 else why_not([a, b], least=3)
    if reason is None and (constant(a) or constant(b)):
        reason = "no variance in one of the two"
    if reason:
        return Correlation(n, reason=reason)
    found: Any = scipy.stats.pearsonr(a, b)  # SciPy brings no types
    r, p = float(found.statistic), float(found.pvalue)
    if n < 4:
        return Correlation(n, r, p, reason="fewer than four pairs have no interval")
    interval = found.confidence_interval(0.95)
    return Correlation(n, r, p, float(interval.low), float(interval.high))
