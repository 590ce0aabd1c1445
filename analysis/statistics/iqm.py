"""The interquartile mean: the mean of the middle half of all runs, which no single run can move far.

The convention is rliable's (Agarwal et al. 2021), which is SciPy's: the scores of all seeds and environments are put in
one heap of n; ⌊n / 4⌋ are cut off at either end, and the rest is averaged with equal weights. No score is cut in part:
of 5 the middle 3 remain, of 4 the middle 2, of 20 the middle 10; of fewer than 4 nothing is cut, and it is the mean.
"""

import numpy as np

CUT = 0.25
"""The part that is cut off at either end."""


def iqm(scores_NM: np.ndarray) -> np.ndarray:
    """The interquartile mean over seeds and environments together: (..., N, M) → (...).  NaN where a score is.

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
    return np.where(np.isnan(heap).any(axis=-1), np.nan, middle)[()]  # NaN would be cut off, as the largest
