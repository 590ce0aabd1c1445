"""Welch's t-test: whether two groups have equal means, without assuming equal variances."""

import math
from dataclasses import dataclass

from analysis.statistics.summaries import Values, constant, sample, variance, why_not


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
    first, second = (variance / size for variance, size in zip(variances, n, strict=True))
    df = (first + second) ** 2 / (first**2 / (n[0] - 1) + second**2 / (n[1] - 1))
    t = difference / math.sqrt(first + second)
    return Welch(n, t, two_sided(t, df), df)
