"""The interquartile mean: the mean of the middle half of all runs. No single run can move it far.

The convention is rliable's (Agarwal et al. 2021), as in SciPy. The n scores of all seeds and environments are pooled;
⌊n / 4⌋ are cut off at each end, and the others are averaged with equal weights. No score is cut in part: the middle 3
of 5 remain, the middle 2 of 4, the middle 10 of 20. With fewer than 4 scores none is cut, and the result is the mean.
"""

import numpy as np

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
