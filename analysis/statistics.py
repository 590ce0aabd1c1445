"""Statistics over the runs of one cell. SciPy computes; a result carries its n, and a reason where there is none."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MeanSD:
    """Mean, sample standard deviation (divisor n − 1; None for fewer than two values) and n."""

    mean: float
    sd: float | None
    n: int


@dataclass(frozen=True)
class Welch:
    """Welch's t-test: t and two-sided p, the sizes of both groups; t and p are None where `reason` says why."""

    t: float | None
    p: float | None
    n: tuple[int, int]
    reason: str | None = None

    def significant(self, level: float) -> bool:
        """Whether there is a p and it lies below the level."""
        return self.p is not None and self.p < level


def mean_sd(values: Sequence[float]) -> MeanSD | None:
    """Mean ± SD of the values (n,); None if there are none.

    Equal values have an SD of exactly 0: their rounded mean may differ from them, which would leave some 1e-17.
    """
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        return None
    if _constant(array):
        return MeanSD(float(array[0]), 0.0 if len(array) > 1 else None, len(array))
    return MeanSD(float(array.mean()), float(array.std(ddof=1)), len(array))


def welch(ours: Sequence[float], theirs: Sequence[float]) -> Welch:
    """Two-sided test that both groups (n,), (m,) have one mean, without assuming one variance.

    No p for a group of fewer than two values, nor where neither group varies: the test has no scale then.
    """
    import scipy.stats  # half a second, which --help and figures need not wait for

    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    n = (len(a), len(b))
    if min(n) < 2:
        return Welch(None, None, n, "fewer than two seeds in one of the groups")
    if _constant(a) and _constant(b):
        return Welch(None, None, n, "no variance in either group")
    with warnings.catch_warnings():
        # One constant group is a legitimate input (its variance is 0); SciPy warns that its moments lose precision.
        warnings.filterwarnings("ignore", message="Precision loss", category=RuntimeWarning)
        result = scipy.stats.ttest_ind(a, b, equal_var=False)
    return Welch(float(result.statistic), float(result.pvalue), n)


def _constant(values: np.ndarray) -> bool:
    return bool(np.ptp(values) == 0)
