"""Observations and rewards scaled by running statistics, separate for each run and each body, in float64.

Legend: K runs, N environments of each, D numbers of an observation, * any shape.

Source: Gymnasium's NormalizeObservation and NormalizeReward, and their RunningMeanStd; clipped at ±10 as in CleanRL.
"""

from collections.abc import Collection, Mapping
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.environments.body import Body
from plasticity_lab.errors import StoreError

Array = NDArray[Any]
EPSILON = 1e-8
CUT = 10.0


class RunningMoments:
    """Mean and variance (K, *) of each run's values, and their number, (K,)."""

    def __init__(self, runs: int, shape: tuple[int, ...]) -> None:
        self.mean, self.variance = np.zeros((runs, *shape)), np.ones((runs, *shape))
        self.count = np.full(runs, 1e-4)

    def add(self, values: Array) -> None:
        """Adds n values to every run, (K, n, *). Source: Chan et al. 1979, as in Gymnasium."""
        self._add(slice(None), values)

    def add_one(self, run: int, value: Array) -> None:
        """Adds one value to one run, (*)."""
        self._add(slice(run, run + 1), value[None, None])

    def scaled(self, values: Array, centre: bool) -> Array:
        """values (K, n, *) in standard deviations, clipped. The mean is subtracted if `centre`."""
        centred = values - self.mean[:, None] if centre else values
        # The same as np.clip, without the microseconds of its checks.
        return np.minimum(np.maximum(centred / np.sqrt(self.variance + EPSILON)[:, None], -CUT), CUT)

    def _add(self, runs: slice, values: Array) -> None:
        number, count = values.shape[1], self.count[runs]
        mean, total = _mean(values), count + number
        beside = (-1, *([1] * (mean.ndim - 1)))
        count_, total_ = count.reshape(beside), total.reshape(beside)
        delta = mean - self.mean[runs]
        squares = self.variance[runs] * count_ + delta * delta * count_ * number / total_
        if number > 1:  # a single value has no variance
            squares += _mean(np.square(values - mean[:, None])) * number
        self.mean[runs] += delta * number / total_
        self.variance[runs] = squares / total_
        self.count[runs] = total


class Normaliser:
    """The statistics of one body for all runs of a pack: new values are first added to the statistics, then scaled."""

    def __init__(self, runs: int, environments: int, observation: tuple[int, ...]) -> None:
        self.observations = RunningMoments(runs, observation)
        self.rewards = RunningMoments(runs, ())
        self.discounted = np.zeros((runs, environments))

    def begin(self, first: Array) -> None:
        """Adds the first observations of new environments, (K, N, D)."""
        self.observations.add(first.astype(np.float64))
        self.discounted[:] = 0.0

    def see(self, led_to: Array, shown: Array, ended: Array) -> None:
        """Adds the observations (K, N, D) that a step led to. If an episode ended (K, N), its successor's first one is
        added too.
        """
        self.observations.add(led_to.astype(np.float64))
        for run, environment in np.argwhere(ended) if ended.any() else ():
            self.observations.add_one(run, shown[run, environment].astype(np.float64))

    def scaled(self, observations: Array) -> Array:
        """Observations (K, N, D) scaled for the network; the statistics stay unchanged."""
        return self.observations.scaled(observations, centre=True).astype(np.float32)

    def scaled_rewards(self, rewards: Array, terminated: Array, gamma: Array) -> Array:
        """Rewards (K, N) divided by the standard deviation of their discounted sums so far. gamma: (K,).

        A sum restarts at the step that terminates an episode (as in Gymnasium), and continues if an episode is only
        truncated.
        """
        self.discounted = self.discounted * gamma[:, None] * ~terminated + rewards
        self.rewards.add(self.discounted)
        return self.rewards.scaled(rewards, centre=False)

    def state(self) -> dict[str, Array]:
        """All that `load` needs, (K, ...): copies."""
        return {name: value.copy() for name, value in self._held().items()}

    def load(self, state: Mapping[str, Array]) -> None:
        """Restores a result of `state` without modifying it."""
        for name, value in self._held().items():
            value[...] = state[name]

    def _held(self) -> dict[str, Array]:
        held = {"discounted": self.discounted}
        for name, moments in (("observations", self.observations), ("rewards", self.rewards)):
            held |= {f"{name}.mean": moments.mean, f"{name}.variance": moments.variance, f"{name}.count": moments.count}
        return held


def _mean(values: Array) -> Array:
    """The mean over the second dimension, added one by one: the grouping in NumPy's `mean` depends on the other
    dimensions.
    """
    return values[:, 0] if values.shape[1] == 1 else np.add.accumulate(values, axis=1)[:, -1] / values.shape[1]


# The statistics of a run's observations and rewards, as stored next to the run's weights.
#
# Legend: K runs, D numbers of an observation.


def kept_of(normalisers: Mapping[str, Normaliser], scales: Collection[str]) -> dict[str, Tensor]:
    """Mean, variance and count of each body, `<body>.<observations or rewards>.<mean, variance or count>` → (K, ...).

    normalisers: by body.
    scales: "observations", "rewards" or both.
    The discounted sums of running episodes are left out: a later episode starts with 0.
    """
    return {
        f"{body}.{name}": torch.tensor(value)
        for body, normaliser in normalisers.items()
        for name, value in scaling(normaliser, scales).items()
    }


def normalisers_from(
    kept: Mapping[str, Tensor], bodies: Mapping[str, Body], scales: Collection[str]
) -> dict[str, Normaliser]:
    """Body → its statistics, from one run's result of `kept_of` without the run axis.

    Raises StoreError if they do not belong to these bodies.
    """
    normalisers = {name: Normaliser(1, 1, (prod(body.observation),)) for name, body in bodies.items()}
    wanted = {name: (value.shape[1:], value.dtype) for name, value in kept_of(normalisers, scales).items()}
    there = {name: (value.shape, value.dtype) for name, value in kept.items()}
    if wanted != there:
        names = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
        raise StoreError(f"They do not belong to the bodies {', '.join(bodies)} ({', '.join(names)}).")
    for body, normaliser in normalisers.items():
        own = {name: kept[f"{body}.{name}"].unsqueeze(0).numpy() for name in scaling(normaliser, scales)}
        normaliser.load(normaliser.state() | own)
    return normalisers


def scaling(normaliser: Normaliser, scales: Collection[str]) -> dict[str, NDArray[np.float64]]:
    """One body's statistics, `<observations or rewards>.<mean, variance or count>` → (K, ...): copies."""
    return {name: value for name, value in normaliser.state().items() if name.partition(".")[0] in scales}
