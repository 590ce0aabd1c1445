"""Hedges' g: the difference of two means, in standard deviations of the runs.

p says whether two means differ; with little noise, the smallest difference has a p below any level. g says how large
the difference is compared with the effect of a seed.
"""

import math
from dataclasses import dataclass
from typing import Any

from analysis.statistics.summaries import Values, constant, sample, why_not

LARGE = 1e3
"""From this t on, the interval only models the noise of the pooled SD. Relative error with 100 runs: 2e-5."""


@dataclass(frozen=True)
class Hedges:
    """The sizes of both groups, g, and the interval of the true effect; numbers are None if `reason` says why."""

    n: tuple[int, int]
    g: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """Low and high, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def hedges(ours: Values, theirs: Values, level: float = 0.95) -> Hedges:
    """The difference of the means of (n,) and (m,), divided by their pooled SD, unbiased; > 0 if ours is greater.

    The bias of small groups is removed exactly (`correction`), not by the usual 1 − 3 / (4 df − 1). The interval
    contains the true difference, in true SDs, with probability `level`. At its ends, t is the upper or the
    lower quantile of the noncentral t distribution. It assumes normal values with equal variances; Welch's
    test does not.

    Source: Hedges 1981 (g and its correction); Cumming and Finch 2001 (the interval).
    """
    a, b = sample(ours), sample(theirs)
    n = (len(a), len(b))
    reason = why_not([a, b], least=2)
    if reason is None and constant(a) and constant(b):
        reason = "no variance in either group"
    if reason:
        return Hedges(n, reason=reason)
    df = sum(n) - 2
    pooled = math.sqrt(sum((len(each) - 1) * each.var(ddof=1) for each in (a, b)) / df)
    difference = float(a.mean() - b.mean()) / pooled
    return Hedges(n, correction(df) * difference, *_interval(difference, n, level))


def correction(df: int) -> float:
    """The exact factor that takes the bias out of a standardised difference with `df` (at least 2) degrees of freedom.

    Source: Hedges 1981, equation 6e: Γ(df/2) / (√(df/2) · Γ((df − 1)/2)).
    """
    return math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) * math.sqrt(2 / df)


def _interval(difference: float, n: tuple[int, int], level: float) -> tuple[float, float]:
    """The interval of the effect: t is the upper quantile at its low end and the lower quantile at its high end."""
    df, scale, tail = sum(n) - 2, math.sqrt(1 / n[0] + 1 / n[1]), (1 - level) / 2
    t = abs(difference) / scale  # the distribution of −t mirrors the distribution of t
    low, high = (_noncentrality(p, t, df) * scale for p in (1 - tail, tail))
    return (low, high) if difference >= 0 else (-high, -low)


def _noncentrality(p: float, t: float, df: int) -> float:
    """The noncentrality such that t (at least 0) is the quantile p of the noncentral t distribution.

    By root finding: SciPy's inverse `nctdtrinc` is wrong in the third digit at t = 10⁴ and never returns beyond it.
    """
    import scipy.optimize  # slow to import; see `welch`
    import scipy.special

    near = t * math.sqrt(scipy.special.chdtri(df, p) / df)  # the limit, if the means have no noise
    if t > LARGE:
        return near
    reach = abs(scipy.special.ndtri(p)) + 1  # the noise of the means has an SD of 1; much farther out, nctdtr gives NaN
    # SciPy has no types: for a type checker the result could be a pair.
    root: Any = scipy.optimize.brentq(lambda shift: scipy.special.nctdtr(df, shift, t) - p, near - reach, near + reach)
    return root
