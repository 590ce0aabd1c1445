"""Two groups of runs compared: Welch's test, the paired test, equivalence, Hedges' effect size, Holm's correction.

Welch's test: whether two groups have equal means, without assuming equal variances.

The paired test is for arms that share their streams: the same seeds met the same tasks in the same order. A seed's
tasks affect both arms equally, which cancels in the difference. So it detects smaller differences than Welch's test. It
needs the same seeds on both sides.

Hedges' g is the difference of two means, in standard deviations of the runs. p says whether two means differ; with
little noise, the smallest difference has a p below any level. g says how large the difference is compared with the
effect of a seed.

Equivalence: whether two means are shown equal within a margin, which a test of a difference cannot show.

Holm's correction: the probability of any false positive stays at the level of one test.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.statistics.summaries import Values, constant, pairs, sample, variance, why_not


@dataclass(frozen=True)
class Welch:
    """The sizes of both groups, t, two-sided p and degrees of freedom; numbers are None if `reason` says why."""

    n: tuple[int, int]
    t: float | None = None
    p: float | None = None
    df: float | None = None
    reason: str | None = None

    def significant(self, level: float) -> bool:
        """Whether p exists and is below the level."""
        return self.p is not None and self.p < level


def welch_of_summaries(ours: tuple[float, float, int], theirs: tuple[float, float, int]) -> float | None:
    """The p of the same test from mean, SD and size of both groups, as a paper prints them.

    None for a group of fewer than two, and if neither varies.
    """
    (mean, sd, n), (their_mean, their_sd, their_n) = ours, theirs
    if min(n, their_n) < 2 or (sd == 0 and their_sd == 0):
        return None
    return _test(mean - their_mean, (sd * sd, their_sd * their_sd), (n, their_n)).p


def equivalence_of_summaries(
    ours: tuple[float, float, int], theirs: tuple[float, float, int], margin: float
) -> float | None:
    """The p of equivalence: two one-sided tests that the true means are less than `margin` apart, by Welch's t.

    If p < 0.05, the means are shown equal within the margin, and the 90 % interval of the difference lies within it.
    "Not significantly different" shows less: with few seeds it is also true of means far apart. Each group is its mean,
    SD and size. None for a group of fewer than two, and if neither varies.

    Source: Schuirmann 1987, as in `statsmodels.stats.weightstats.ttost_ind(usevar="unequal")`.
    """
    import scipy.special  # slow to import; see `two_sided`

    (mean, sd, n), (their_mean, their_sd, their_n) = ours, theirs
    if min(n, their_n) < 2 or (sd == 0 and their_sd == 0):
        return None
    error, df = _error((sd * sd, their_sd * their_sd), (n, their_n))
    return float(scipy.special.stdtr(df, (abs(mean - their_mean) - margin) / error))


def welch(ours: Values, theirs: Values) -> Welch:
    """Two-sided test that both groups (n,), (m,) have equal means; t > 0 if ours is greater.

    No p for a group of fewer than two values or with one that is not finite, nor if neither group varies: then the test
    has no scale.

    Source: Welch 1947; degrees of freedom by Welch and Satterthwaite, as in `scipy.stats.ttest_ind(equal_var=False)`.
    """
    a, b = sample(ours), sample(theirs)
    n = (len(a), len(b))
    reason = why_not([a, b], least=2)
    if reason is None and constant(a) and constant(b):
        reason = "no variance in either group"
    if reason:
        return Welch(n, reason=reason)
    return _test(float(a.mean() - b.mean()), (variance(a), variance(b)), n)


def two_sided(t: float, df: float) -> float:
    """The two-sided p of Student's t with `df` degrees of freedom."""
    import scipy.special  # a fifth of a second, and `scipy.stats` three times as long; --help and figures need neither

    return float(2 * scipy.special.stdtr(df, -abs(t)))


def _test(difference: float, variances: tuple[float, float], n: tuple[int, int]) -> Welch:
    """difference: first mean minus second."""
    error, df = _error(variances, n)
    t = difference / error
    return Welch(n, t, two_sided(t, df), df)


def _error(variances: tuple[float, float], n: tuple[int, int]) -> tuple[float, float]:
    """The standard error of a difference of means, and its degrees of freedom by Welch and Satterthwaite."""
    first, second = (variance / size for variance, size in zip(variances, n, strict=True))
    df = (first + second) ** 2 / (first**2 / (n[0] - 1) + second**2 / (n[1] - 1))
    return math.sqrt(first + second), df


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
    import scipy.optimize  # slow to import; see `two_groups`
    import scipy.special

    near = t * math.sqrt(scipy.special.chdtri(df, p) / df)  # the limit, if the means have no noise
    if t > LARGE:
        return near
    reach = abs(scipy.special.ndtri(p)) + 1  # the noise of the means has an SD of 1; much farther out, nctdtr gives NaN
    # SciPy has no types: for a type checker the result could be a pair.
    root: Any = scipy.optimize.brentq(lambda shift: scipy.special.nctdtr(df, shift, t) - p, near - reach, near + reach)
    return root


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The corrected p-values, in the order given. A corrected p below a level is significant at this level.

    The k-th smallest of m is multiplied by m − k + 1. A greater p is never corrected to a smaller value than a smaller
    p, and none to more than 1. None (no test) stays None and does not count as a test.

    Source: Holm 1979, step down. The tests need not be independent.  Raises ValueError for values outside [0, 1].
    """
    tested = [place for place, p in enumerate(p_values) if p is not None]
    raw = np.array([p_values[place] for place in tested], dtype=np.float64)
    if not ((raw >= 0) & (raw <= 1)).all():
        raise ValueError(f"A p-value lies between 0 and 1, or is None; these are {raw.tolist()}.")
    order = np.argsort(raw, kind="stable")
    factors = np.arange(len(raw), 0, -1)
    stepped = np.minimum(np.maximum.accumulate(raw[order] * factors), 1.0)
    corrected: list[float | None] = [None] * len(p_values)
    for place, value in zip(order, stepped, strict=True):
        corrected[tested[place]] = float(value)
    return corrected
