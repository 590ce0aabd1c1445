"""GAP: training return minus test return; ΔGAP: its change from the first to the last cycle.

Legend: C cycles, N seeds, M environments.
"""

from dataclasses import dataclass

import numpy as np

from analysis.statistics.iqm import iqm
from analysis.statistics.normalise import failed
from analysis.statistics.summaries import half_width


@dataclass(frozen=True)
class GapSummary:
    """ΔGAP of one activation as Tables 4 and F3 print it.

    mean (M,): over seeds. half (M,): half the width of its interval by Student's t, NaN for a single seed.
    iqm, overall, sd: interquartile mean, mean and sample standard deviation over the environments' means.
    """

    mean: np.ndarray
    half: np.ndarray
    iqm: float
    overall: float
    sd: float


def gaps(train_CNM: np.ndarray, test_CNM: np.ndarray) -> np.ndarray:
    """Training return minus test return in each cycle, (C, N, M); 0 if one of the two is a failure (see `failed`).

    Source: Figure F1.  Raises ValueError if they differ in shape.
    """
    train, test = _checked(train_CNM, test_CNM, least=1)
    lost = failed(train) | failed(test)
    return np.where(lost, 0.0, np.where(lost, 0.0, train) - np.where(lost, 0.0, test))


def gap_summary(change_NM: np.ndarray, level: float = 0.95) -> GapSummary:
    """The changes of all seeds of an activation, (N, M), in the numbers of Tables 4 and F3."""
    change = np.asarray(change_NM, dtype=np.float64)
    mean = change.mean(axis=0)
    spread = float(mean.std(ddof=1)) if len(mean) > 1 else float("nan")
    return GapSummary(mean, half_width(change, level), float(iqm(mean[None])), float(mean.mean()), spread)


def gap_change(train_CNM: np.ndarray, test_CNM: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ΔGAP = (train − test) in the last cycle − (train − test) in the first cycle: (C, N, M) → (N, M).

    The second result says which runs failed and count as 0, (N, M).

    Above 0: the gap has widened. A run with a failure (see `failed`) among these four returns has a ΔGAP of 0: the
    paper says that a failed run has a gap of 0. If only the failed cycle had a gap of 0, an explosion in the last cycle
    would look like a gap that closed.

    Raises ValueError for fewer than two cycles, or if train and test differ in shape.
    Source: the paper's "Robust Metrics for Non-Stationary RL", Tables 4 and F3.
    """
    train, test = _checked(train_CNM, test_CNM, least=2)
    ends = np.stack([train[0], test[0], train[-1], test[-1]])
    lost = np.any(failed(ends), axis=0)
    first_train, first_test, last_train, last_test = np.where(lost, 0.0, ends)
    return (last_train - last_test) - (first_train - first_test), lost


def _checked(train: np.ndarray, test: np.ndarray, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Both as floats.  Raises ValueError for other shapes, or fewer cycles."""
    train, test = (np.asarray(each, dtype=np.float64) for each in (train, test))
    if train.ndim != 3 or train.shape != test.shape or len(train) < least:
        raise ValueError(
            f"Returns of training and test are (cycles, seeds, environments), of {least} cycles or more; these are "
            f"{train.shape} and {test.shape}."
        )
    return train, test
