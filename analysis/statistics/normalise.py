"""Returns of environments with different scales → scores between 0 and 1; and which runs are failures.

The paper takes min and max from "a robust percentile sweep across all activations" and does not name the percentiles.
We take the 5th and the 95th. They depend on the compared runs, so tables and figures show them with the scores.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

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
