"""Two quantities of the same runs: Pearson's correlation, and a least-squares parabola, each with its intervals.

A parabola asks whether something is best in the middle, which a correlation over a few settings, being linear, cannot.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

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
    import scipy.stats  # slow to import; see `two_groups`

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


@dataclass(frozen=True)
class Parabola:
    """y = a + b x + c x², over n points. curvature: c, with its interval; vertex: −b / 2c, with its interval.

    Numbers are None if `reason` says why. The vertex has its interval by the delta method, which holds if c is well
    known.
    """

    n: int
    curvature: float | None = None
    low: float | None = None
    high: float | None = None
    vertex: float | None = None
    vertex_low: float | None = None
    vertex_high: float | None = None
    reason: str | None = None

    @property
    def peaks(self) -> bool:
        """Whether the interval of the curvature lies below 0."""
        return self.high is not None and self.high < 0


def parabola(x: Values, y: Values) -> Parabola:
    """The fit to the pairs (n,), (n,): ordinary least squares, Student's t with n − 3 degrees of freedom.

    Intervals are of 95 %.  Raises ValueError for lists of different lengths.
    """
    import scipy.special  # slow to import; see `two_groups`

    a, b = pairs(x, y, "A parabola")
    n = len(a)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return Parabola(n, reason="a value that is not finite")
    if len(np.unique(a)) < 3:
        return Parabola(n, reason="fewer than three different x")
    if n < 4:
        return Parabola(n, reason="fewer than four points")
    design = np.stack([np.ones_like(a), a, a**2], axis=1)
    solved, *_ = np.linalg.lstsq(design, b, rcond=None)
    variance = float(((b - design @ solved) ** 2).sum()) / (n - 3)
    covariance = variance * np.linalg.inv(design.T @ design)
    width = float(scipy.special.stdtrit(n - 3, (1 + 0.95) / 2))
    _, slope, curvature = map(float, solved)
    half = width * float(covariance[2, 2]) ** 0.5
    ends = curvature - half, curvature + half
    if not curvature:
        return Parabola(n, curvature, *ends, reason="a straight line")
    vertex = -slope / (2 * curvature)
    gradient = np.array([0.0, -1 / (2 * curvature), slope / (2 * curvature**2)])
    reach = width * float(gradient @ covariance @ gradient) ** 0.5
    return Parabola(n, curvature, *ends, vertex, vertex - reach, vertex + reach)
