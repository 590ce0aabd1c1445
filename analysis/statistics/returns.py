"""Returns of environments with different scales → scores between 0 and 1, gaps, and which runs are failures.

The paper takes min and max of scores from "a robust percentile sweep across all activations" and does not name the
percentiles. We take the 5th and the 95th. They depend on the compared runs, so tables and figures show them with the
scores. GAP: training return minus test return; ΔGAP: its change from the first to the last cycle.

Legend: C cycles, N seeds, M environments.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.statistics.summaries import half_width, iqm

FLOOR = -500.0
"""A return below it, or one that is not finite, is a failure: the simulation exploded (the paper's stability floor)."""
PERCENTILES = (5.0, 95.0)


@dataclass(frozen=True)
class Normalised:
    """Scores by arm, each (N, M), and the settings behind them; scores are None if `reason` says why.

    low, high: the returns (M,) that became 0 and 1.
    """

    scores: Mapping[str, np.ndarray] | None
    low: np.ndarray | None
    high: np.ndarray | None
    floor: float
    percentiles: tuple[float, float]
    reason: str | None = None

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Low and high.  Raises ValueError if there are no runs to take them from."""
        if self.low is None or self.high is None:
            raise ValueError("There are no bounds, as there are no runs.")
        return self.low, self.high


def failed(returns: np.ndarray, floor: float = FLOOR) -> np.ndarray:
    """Which returns are failures: below the floor, or not finite.  Any shape → the same, bool."""
    returns = np.asarray(returns, dtype=np.float64)
    return ~np.isfinite(returns) | (returns < floor)


def normalise(
    returns: Mapping[str, np.ndarray], floor: float = FLOOR, percentiles: tuple[float, float] = PERCENTILES
) -> Normalised:
    """Scores of all compared arms: arm → returns (N seeds, M environments) → the same shapes, in [0, 1].

    The score is (return − low) / (high − low) in each environment, clipped to [0, 1]. low and high are percentiles over
    all runs of all arms; for them a failure counts as a return at the floor. A failure scores 0.

    Raises ValueError if no arm is given, or if the arms have different environments.
    Source: the paper's plasticity score ("Robust Metrics for Non-Stationary RL").
    """
    arms = {name: np.asarray(each, dtype=np.float64) for name, each in returns.items()}
    if not arms or any(arm.ndim != 2 for arm in arms.values()) or len({arm.shape[1] for arm in arms.values()}) > 1:
        shapes = {name: arm.shape for name, arm in arms.items()}
        raise ValueError(
            f"Returns are (seeds, environments), with the same environments for all arms; shapes given: {shapes}."
        )
    lost = {name: failed(arm, floor) for name, arm in arms.items()}
    together = np.concatenate([np.where(lost[name], floor, arm) for name, arm in arms.items()])
    if not len(together):
        return Normalised(None, None, None, floor, percentiles, "no runs")
    low, high = np.percentile(together, percentiles, axis=0)
    if flat := np.flatnonzero(high <= low).tolist():
        reason = f"the runs do not differ between the percentiles in the environments at {flat}"
        return Normalised(None, low, high, floor, percentiles, reason)
    scores = {name: scored(arm, low, high, floor) for name, arm in arms.items()}
    return Normalised(scores, low, high, floor, percentiles)


def scored(returns: np.ndarray, low: np.ndarray, high: np.ndarray, floor: float = FLOOR) -> np.ndarray:
    """Returns (..., M environments) by given bounds (M,) → scores in [0, 1] of the same shape; a failure scores 0."""
    returns = np.asarray(returns, dtype=np.float64)
    lost = failed(returns, floor)
    return np.where(lost, 0.0, np.clip((np.where(lost, low, returns) - low) / (high - low), 0.0, 1.0))


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
