"""Performance profiles: the part of an arm's runs that scores above each threshold.

If one arm's profile lies above another's everywhere, it is better by every summary; if they cross, the better arm
depends on the summary.
"""

from dataclasses import dataclass

import numpy as np

from analysis.statistics.bootstrap import REPLICATES, bootstrap


@dataclass(frozen=True)
class Profile:
    """A profile with its band at each threshold, (T,) all; shape: (seeds, environments).

    The band is made for each threshold separately, not for all of them at once. fraction, low and high are None if
    `reason` says why; a single seed gives a fraction and no band.
    """

    thresholds: np.ndarray
    fraction: np.ndarray | None
    low: np.ndarray | None
    high: np.ndarray | None
    shape: tuple[int, int]
    reason: str | None = None


def above(scores_NM: np.ndarray, thresholds_T: np.ndarray) -> np.ndarray:
    """The part of all scores above each threshold: (..., N, M), (T,) → (..., T).

    Source: Agarwal et al. 2021, the run-score distribution, which pools the seeds of all environments.
    """
    scores = np.asarray(scores_NM, dtype=np.float64)
    return np.stack([(scores > each).mean(axis=(-2, -1)) for each in thresholds_T], axis=-1)


def profile(scores_NM: np.ndarray, thresholds_T: np.ndarray, name: str, replicates: int = REPLICATES) -> Profile:
    """The profile of scores (N seeds, M environments) at the thresholds (T,), with its band.  name: the arm's name.

    Raises ValueError for scores of another shape, or if no threshold is given.
    """
    thresholds = np.asarray(thresholds_T, dtype=np.float64)
    if thresholds.ndim != 1 or not len(thresholds):
        raise ValueError(f"Thresholds have one axis and at least one value; these have the shape {thresholds.shape}.")
    found = bootstrap(lambda scores: above(scores, thresholds), scores_NM, name=name, replicates=replicates)
    return Profile(thresholds, found.value, found.low, found.high, found.shapes[0], found.reason)
