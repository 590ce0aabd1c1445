"""One number, or mean ± SD, for many runs."""

from dataclasses import dataclass

import numpy as np

from analysis.statistics.sample import Values, constant, sample


@dataclass(frozen=True)
class MeanSD:
    """Mean, sample standard deviation (divisor n − 1) and n; a number that there is not is None, as `reason` says."""

    mean: float | None
    sd: float | None
    n: int
    reason: str | None = None


def mean_sd(values: Values) -> MeanSD:
    """Mean ± SD of the values (n,); no mean of none or where one is not finite, no SD of fewer than two.

    Equal values have an SD of exactly 0: their rounded mean may differ from them, which would leave some 1e-17.
    """
    array = sample(values)
    if not len(array):
        return MeanSD(None, None, 0, "no values")
    if not np.isfinite(array).all():
        return MeanSD(None, None, len(array), "a value that is not finite")
    if len(array) == 1:
        return MeanSD(float(array[0]), None, 1, "one value has no SD")
    if constant(array):
        return MeanSD(float(array[0]), 0.0, len(array))
    return MeanSD(float(array.mean()), float(array.std(ddof=1)), len(array))


def half_width(values_N: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Half the width of the interval of a mean by Student's t: (N, ...) → (...).

    NaN of fewer than two values, and of equal ones, which say nothing of how others would vary.
    """
    import scipy.special  # slow to import; see `welch`

    values = np.asarray(values_N, dtype=np.float64)
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    half = scipy.special.stdtrit(n - 1, 0.5 + level / 2) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return np.where(np.ptp(values, axis=0) > 0, half, np.nan)


def mean_score(scores_NM: np.ndarray) -> np.ndarray:
    """The mean over seeds and environments: (..., N, M) → (...).  NaN where one is."""
    return np.asarray(scores_NM, dtype=np.float64).mean(axis=(-2, -1))


def median_score(scores_NM: np.ndarray) -> np.ndarray:
    """The median over environments of their means over seeds: (..., N, M) → (...).  NaN where a score is.

    Source: Agarwal et al. 2021, as their library rliable has it; not the median of all scores.
    """
    return np.median(np.asarray(scores_NM, dtype=np.float64).mean(axis=-2), axis=-1)


def optimality_gap(scores_NM: np.ndarray, good: float = 1.0) -> np.ndarray:
    """By how much scores fall short of a good one, on average: (..., N, M) → (...), less is better.

    What lies above `good` counts as good.  NaN where a score is.  Source: Agarwal et al. 2021, where good is called γ.
    """
    return good - np.minimum(np.asarray(scores_NM, dtype=np.float64), good).mean(axis=(-2, -1))
