"""The probability of improvement: how likely a run of one arm beats a run of another in the same environment."""

import numpy as np

from analysis.statistics.bootstrap import REPLICATES, Estimate, bootstrap


def improvement(ours_NM: np.ndarray, theirs_KM: np.ndarray) -> np.ndarray:
    """P(ours > theirs), averaged over environments: (..., N, M), (..., K, M) → (...).  A tie counts as half.

    In each environment it is Mann and Whitney's U by the number of pairs. More is taken as better.
    Source: Agarwal et al. 2021. NaN beats nothing: `probability_of_improvement` gives None where there is one.
    """
    ours = np.asarray(ours_NM, dtype=np.float64)[..., :, None, :]
    theirs = np.asarray(theirs_KM, dtype=np.float64)[..., None, :, :]
    wins = np.count_nonzero(ours > theirs, axis=(-3, -2)) + np.count_nonzero(ours >= theirs, axis=(-3, -2))
    return (wins / (2 * ours.shape[-3] * theirs.shape[-2])).mean(axis=-1)


def probability_of_improvement(
    ours_NM: np.ndarray,
    theirs_KM: np.ndarray,
    name: str,
    replicates: int = REPLICATES,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """`improvement` of scores (N seeds, M environments) over (K, M), with the papers' interval: both are drawn again.

    With few seeds it is too narrow: `interval.improvement_interval` covers.
    An interval of which 0.5 is no part speaks for a difference; name: as in "relu over tanh".
    Raises ValueError for arms with different environments.
    """
    return bootstrap(improvement, ours_NM, theirs_KM, name=name, replicates=replicates, level=level, seed=seed)
