"""ΔGAP: how much the gap between training and test returns widens from the first cycle to the last."""

from dataclasses import dataclass

import numpy as np

from analysis.statistics.normalise import FLOOR, failed


@dataclass(frozen=True)
class GapChange:
    """The change for each run, and which runs failed and count as 0: both (N seeds, M environments)."""

    change: np.ndarray
    failed: np.ndarray


def gap_change(train_CNM: np.ndarray, test_CNM: np.ndarray, floor: float = FLOOR) -> GapChange:
    """ΔGAP = (train − test) in the last cycle less the same in the first: (C cycles, N seeds, M environments) → (N, M).

    More than 0: the gap has widened. A run with a failure (see `failed`) among these four returns has a ΔGAP of 0. The
    paper says that a failed run has a gap of 0; were that so in its failed cycle alone, an explosion in the last cycle
    would read as a gap that closed.

    Raises ValueError for fewer than two cycles, or where train and test differ in shape.
    Source: the paper's "Robust Metrics for Non-Stationary RL", Tables 4 and F3.
    """
    train, test = (np.asarray(each, dtype=np.float64) for each in (train_CNM, test_CNM))
    if train.ndim != 3 or train.shape != test.shape or len(train) < 2:
        raise ValueError(
            f"Returns of training and test are (cycles, seeds, environments), of two cycles or more; these are "
            f"{train.shape} and {test.shape}."
        )
    ends = np.stack([train[0], test[0], train[-1], test[-1]])
    lost = failed(ends, floor).any(axis=0)
    first_train, first_test, last_train, last_test = np.where(lost, 0.0, ends)
    return GapChange((last_train - last_test) - (first_train - first_test), lost)
