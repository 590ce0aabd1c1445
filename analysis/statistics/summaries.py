"""Checks of the values of one group, and summaries of many runs: one number, or mean ± SD.

The interquartile mean is the mean of the middle half of all runs. No single run can move it far. The convention is
rliable's (Agarwal et al. 2021), as in SciPy. The n scores of all seeds and environments are pooled; ⌊n / 4⌋ are cut
off at each end, and the others are averaged with equal weights. No score is cut in part: the middle 3 of 5 remain, the
middle 2 of 4, the middle 10 of 20. With fewer than 4 scores none is cut, and the result is the mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Values = Sequence[float] | np.ndarray
"""The values of one group, (n,)."""


def sample(values: Values) -> np.ndarray:
    """The values as float64 (n,).  Raises ValueError for an array of more axes."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"The values of a group have one axis; these have the shape {array.shape}.")
    return array


def pairs(x: Values, y: Values, of: str) -> tuple[np.ndarray, np.ndarray]:
    """Both samples.  of: the statistic that needs pairs.  Raises ValueError for lists of different lengths."""
    a, b = sample(x), sample(y)
    if len(a) != len(b):
        raise ValueError(f"{of} needs pairs; there are {len(a)} and {len(b)} values.")
    return a, b


def why_not(groups: Sequence[np.ndarray], least: int) -> str | None:
    """Why groups of fewer than `least` values, or with one that is not finite, give no number; None if they do."""
    if min(len(group) for group in groups) < least:
        words = {2: "two", 3: "three"}
        where = " in one of the groups" if len(groups) > 1 else ""
        return f"fewer than {words.get(least, least)} seeds{where}"
    if not all(np.isfinite(group).all() for group in groups):
        return "a value that is not finite"
    return None


def constant(values: np.ndarray) -> bool:
    """Whether all values (n,), at least one, are the same."""
    return bool(np.ptp(values) == 0)


def variance(values: np.ndarray) -> float:
    """The sample variance of values (n,), rounded as SciPy's tests do it: divided by n, then times n / (n − 1)."""
    return float(((values - values.mean()) ** 2).mean() * (len(values) / (len(values) - 1)))


@dataclass(frozen=True)
class MeanSD:
    """The number of values, their mean and sample standard deviation (divisor n − 1); None if it does not exist."""

    n: int
    mean: float | None = None
    sd: float | None = None


def mean_sd(values: Values) -> MeanSD:
    """Mean ± SD of the values (n,).  No mean for an empty list or if a value is not finite; no SD for fewer than two.

    Equal values have an SD of exactly 0: their rounded mean may differ from them, which would leave about 1e-17.
    """
    array = sample(values)
    n = len(array)
    if not n or not np.isfinite(array).all():
        return MeanSD(n)
    if n == 1:
        return MeanSD(n, float(array[0]))
    if constant(array):
        return MeanSD(n, float(array[0]), 0.0)
    return MeanSD(n, float(array.mean()), float(array.std(ddof=1)))


def half_width(values_N: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Half the width of the interval of a mean by Student's t: (N, ...) → (...).

    NaN for fewer than two values, and for equal values, because they give no information about the spread.
    """
    import scipy.special  # slow to import; see `two_groups`

    values = np.asarray(values_N, dtype=np.float64)
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    half = scipy.special.stdtrit(n - 1, 0.5 + level / 2) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return np.where(np.ptp(values, axis=0) > 0, half, np.nan)


def mean_score(scores_NM: np.ndarray) -> np.ndarray:
    """The mean over seeds and environments: (..., N, M) → (...).  NaN if a score is."""
    return np.asarray(scores_NM, dtype=np.float64).mean(axis=(-2, -1))


def median_score(scores_NM: np.ndarray) -> np.ndarray:
    """The median over environments of their means over seeds: (..., N, M) → (...).  NaN if a score is.

    Source: Agarwal et al. 2021, as in their library rliable; not the median of all scores.
    """
    return np.median(np.asarray(scores_NM, dtype=np.float64).mean(axis=-2), axis=-1)


def optimality_gap(scores_NM: np.ndarray, good: float = 1.0) -> np.ndarray:
    """The mean shortfall of scores from a good score: (..., N, M) → (...), less is better.

    A score above `good` counts as `good`.  NaN if a score is NaN.  Source: Agarwal et al. 2021 (γ is our `good`).
    """
    return good - np.minimum(np.asarray(scores_NM, dtype=np.float64), good).mean(axis=(-2, -1))


def improvement(ours_NM: np.ndarray, theirs_KM: np.ndarray) -> np.ndarray:
    """P(ours > theirs), averaged over environments: (..., N, M), (..., K, M) → (...).  A tie counts as half.

    In each environment it is Mann and Whitney's U divided by the number of pairs. More is better. NaN beats no value.
    Source: Agarwal et al. 2021. Their bootstrap interval is too narrow with few seeds; use
    `interval.improvement_interval`.
    """
    ours = np.asarray(ours_NM, dtype=np.float64)[..., :, None, :]
    theirs = np.asarray(theirs_KM, dtype=np.float64)[..., None, :, :]
    wins = np.count_nonzero(ours > theirs, axis=(-3, -2)) + np.count_nonzero(ours >= theirs, axis=(-3, -2))
    return (wins / (2 * ours.shape[-3] * theirs.shape[-2])).mean(axis=-1)


CUT = 0.25
"""The part that is cut off at either end."""


def iqm(scores_NM: np.ndarray) -> np.ndarray:
    """The interquartile mean over seeds and environments together: (..., N, M) → (...).  NaN if a score is NaN.

    Raises ValueError for an array without these two axes.
    """
    scores = np.asarray(scores_NM, dtype=np.float64)
    if scores.ndim < 2:
        raise ValueError(f"Scores have axes of seeds and of environments; these have the shape {scores.shape}.")
    heap = scores.reshape(*scores.shape[:-2], -1)
    if not (many := heap.shape[-1]):
        return np.full(heap.shape[:-1], np.nan)[()]
    cut = int(CUT * many)
    # As in `scipy.stats.trim_mean`, which takes most of a second to import.
    middle = np.partition(heap, (cut, many - cut - 1), axis=-1)[..., cut : many - cut].mean(axis=-1)
    return np.where(np.isnan(heap).any(axis=-1), np.nan, middle)[()]  # NaN sorts as the largest and would be cut off
