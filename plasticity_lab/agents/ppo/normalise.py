"""Observations and rewards scaled by running statistics: for each run, and for each body by itself, in float64.

Legend: K runs, N environments of each, D numbers of an observation, * any shape.

Source: Gymnasium's NormalizeObservation and NormalizeReward, and their RunningMeanStd; cut off at ±10 as in CleanRL.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
EPSILON = 1e-8
CUT = 10.0


class RunningMoments:
    """Mean and variance (K, *) of what each run has shown, and how much of it there was, (K,)."""

    def __init__(self, runs: int, shape: tuple[int, ...]) -> None:
        self.mean, self.variance = np.zeros((runs, *shape)), np.ones((runs, *shape))
        self.count = np.full(runs, 1e-4)

    def add(self, values: Array) -> None:
        """Some more of every run, (K, n, *).  Source: Chan et al. 1979, as in Gymnasium."""
        self._add(slice(None), values)

    def add_one(self, run: int, value: Array) -> None:
        """One more of one run, (*)."""
        self._add(slice(run, run + 1), value[None, None])

    def scaled(self, values: Array, centre: bool) -> Array:
        """values (K, n, *) in standard deviations, from the mean if `centre`, cut off."""
        centred = values - self.mean[:, None] if centre else values
        # np.clip, without the microseconds of its checks.
        return np.minimum(np.maximum(centred / np.sqrt(self.variance + EPSILON)[:, None], -CUT), CUT)

    def _add(self, runs: slice, values: Array) -> None:
        number, count = values.shape[1], self.count[runs]
        mean, total = _mean(values), count + number
        beside = (-1, *([1] * (mean.ndim - 1)))
        count_, total_ = count.reshape(beside), total.reshape(beside)
        delta = mean - self.mean[runs]
        squares = self.variance[runs] * count_ + delta * delta * count_ * number / total_
        if number > 1:  # one number alone does not vary
            squares += _mean(np.square(values - mean[:, None])) * number
        self.mean[runs] += delta * number / total_
        self.variance[runs] = squares / total_
        self.count[runs] = total


class Normaliser:
    """The statistics of one body for all runs of a pack: what is seen is learned from, then scaled."""

    def __init__(self, runs: int, environments: int, observation: tuple[int, ...]) -> None:
        self.observations = RunningMoments(runs, observation)
        self.rewards = RunningMoments(runs, ())
        self.discounted = np.zeros((runs, environments))

    def begin(self, first: Array) -> None:
        """New environments have shown their first observations, (K, N, D)."""
        self.observations.add(first.astype(np.float64))
        self.discounted[:] = 0.0

    def see(self, led_to: Array, shown: Array, ended: Array) -> None:
        """A step led to observations (K, N, D); where an episode ended (K, N), the next one's is shown besides."""
        self.observations.add(led_to.astype(np.float64))
        for run, environment in np.argwhere(ended) if ended.any() else ():
            self.observations.add_one(run, shown[run, environment].astype(np.float64))

    def scaled(self, observations: Array) -> Array:
        """Observations (K, N, D) as the network is given them; nothing is learned from them."""
        return self.observations.scaled(observations, centre=True).astype(np.float32)

    def scaled_rewards(self, rewards: Array, terminated: Array, gamma: Array) -> Array:
        """Rewards (K, N) by the deviation of what their discounted sums have been.  gamma: (K,).

        A sum begins anew with the step that terminates an episode (Gymnasium's order), and goes on where only the
        limit on its steps ended one.
        """
        self.discounted = self.discounted * gamma[:, None] * ~terminated + rewards
        self.rewards.add(self.discounted)
        return self.rewards.scaled(rewards, centre=False)

    def state(self) -> dict[str, Array]:
        """All that `load` needs, (K, ...): copies."""
        return {name: value.copy() for name, value in self._held().items()}

    def load(self, state: Mapping[str, Array]) -> None:
        """Goes back to what `state` gave, and leaves it untouched."""
        for name, value in self._held().items():
            value[...] = state[name]

    def _held(self) -> dict[str, Array]:
        held = {"discounted": self.discounted}
        for name, moments in (("observations", self.observations), ("rewards", self.rewards)):
            held |= {f"{name}.mean": moments.mean, f"{name}.variance": moments.variance, f"{name}.count": moments.count}
        return held


def _mean(values: Array) -> Array:
    """Over the second dimension, added up one by one: NumPy's `mean` groups by what else there is."""
    return values[:, 0] if values.shape[1] == 1 else np.add.accumulate(values, axis=1)[:, -1] / values.shape[1]
