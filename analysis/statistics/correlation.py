"""Pearson's correlation, with its p and interval."""

from dataclasses import dataclass
from typing import Any

from analysis.statistics.sample import Values, constant, sample, why_not


@dataclass(frozen=True)
class Correlation:
    """r, two-sided p, and the interval of the true correlation; n pairs. None where `reason` says why.

    r and p are there, and low and high are not, for three pairs.
    """

    r: float | None
    p: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None


def pearson(x: Values, y: Values, level: float = 0.95) -> Correlation:
    """The correlation of the pairs (n,), (n,).

    p: exact for normal values. Interval: Fisher's z = artanh r ± quantile / √(n − 3), which needs four pairs.
    Source: Fisher 1921, as in `scipy.stats.pearsonr`.  Raises ValueError for lists of different lengths.
    """
    import scipy.stats  # slow to import; see `welch`

    a, b = sample(x), sample(y)
    if len(a) != len(b):
        raise ValueError(f"A correlation is of pairs; there are {len(a)} and {len(b)} values.")
    reason = "fewer than three pairs" if len(a) < 3 else why_not([a, b], least=3)
    if reason is None and (constant(a) or constant(b)):
        reason = "no variance in one of the two"
    if reason:
        return Correlation(None, None, None, None, len(a), reason)
    found: Any = scipy.stats.pearsonr(a, b)  # SciPy brings no types
    r, p = float(found.statistic), float(found.pvalue)
    if len(a) < 4:
        return Correlation(r, p, None, None, len(a), "fewer than four pairs have no interval")
    interval = found.confidence_interval(level)
    return Correlation(r, p, float(interval.low), float(interval.high), len(a))
