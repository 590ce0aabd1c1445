"""Welch's t-test: whether two groups have one mean, without assuming that they have one variance."""

import warnings
from dataclasses import dataclass
from typing import Any

from analysis.statistics.sample import Values, constant, sample, why_not


@dataclass(frozen=True)
class Welch:
    """t, degrees of freedom and two-sided p, the sizes of both groups; all but n are None where `reason` says why."""

    t: float | None
    p: float | None
    n: tuple[int, int]
    reason: str | None = None
    df: float | None = None

    def significant(self, level: float) -> bool:
        """Whether there is a p and it lies below the level."""
        return self.p is not None and self.p < level


def welch_of_summaries(ours: tuple[float, float, int], theirs: tuple[float, float, int]) -> float | None:
    """The p of the same test from mean, SD and size of both groups, as a paper prints them.

    None for a group of fewer than two, and where neither varies.
    """
    import scipy.stats

    (_, sd, n), (_, their_sd, their_n) = ours, theirs
    if min(n, their_n) < 2 or (sd == 0 and their_sd == 0):
        return None
    result: Any = scipy.stats.ttest_ind_from_stats(*ours, *theirs, equal_var=False)  # SciPy brings no types
    return float(result.pvalue)


def welch(ours: Values, theirs: Values) -> Welch:
    """Two-sided test that both groups (n,), (m,) have one mean; t > 0 where ours is the greater.

    No p for a group of fewer than two values or with one that is not finite, nor where neither group varies: the test
    has no scale then.

    Source: Welch 1947; degrees of freedom by Welch and Satterthwaite, as in `scipy.stats.ttest_ind(equal_var=False)`.
    """
    import scipy.stats  # half a second, which --help and figures need not wait for

    a, b = sample(ours), sample(theirs)
    n = (len(a), len(b))
    reason = why_not([a, b], least=2)
    if reason is None and constant(a) and constant(b):
        reason = "no variance in either group"
    if reason:
        return Welch(None, None, n, reason)
    with warnings.catch_warnings():
        # One constant group is a legitimate input (its variance is 0); SciPy warns that its moments lose precision.
        warnings.filterwarnings("ignore", message="Precision loss", category=RuntimeWarning)
        result: Any = scipy.stats.ttest_ind(a, b, equal_var=False)  # SciPy brings no types
    return Welch(float(result.statistic), float(result.pvalue), n, df=float(result.df))
