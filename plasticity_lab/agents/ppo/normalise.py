"""Observations and rewards scaled by running statistics: for each run, and for each body by itself, in float64.

Legend: K runs, N environments of each, D numbers of an observation, * any shape.

Source: Gymnasium's NormalizeObservation and NormalizeReward, and their RunningMeanStd; cut off at ±10 as in CleanRL.
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


# What scales a run's observations and rewards, as it is kept beside the run's weights.
#
# Legend: K runs, D numbers of an observation.


def kept_of(normalisers: Mapping[str, Normaliser], scales: Collection[str]) -> dict[str, Tensor]:
    """Mean, variance and count of each body, `<body>.<observations or rewards>.<mean, variance or count>` → (K, ...).

    normalisers: by body. scales: which of observations and rewards are normalised. Where the discounted sums of running
    episodes stand is no part of it: an episode that begins later begins with 0.
    """
    return {
        f"{body}.{name}": torch.tensor(value)
        for body, normaliser in normalisers.items()
        for name, value in scaling(normaliser, scales).items()
    }


def normalisers_from(
    kept: Mapping[str, Tensor], bodies: Mapping[str, Body], scales: Collection[str]
) -> dict[str, Normaliser]:
    """Body → its statistics, of one run that `kept_of` has kept and of which the run axis is gone.

    Raises StoreError where they are not those of these bodies.
    """
    normalisers = {name: Normaliser(1, 1, (prod(body.observation),)) for name, body in bodies.items()}
    wanted = {name: (value.shape[1:], value.dtype) for name, value in kept_of(normalisers, scales).items()}
    there = {name: (value.shape, value.dtype) for name, value in kept.items()}
    if wanted != there:
        names = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
        raise StoreError(f"They are not those of the bodies {', '.join(bodies)} ({', '.join(names)}).")
    for body, normaliser in normalisers.items():
        own = {name: kept[f"{body}.{name}"].unsqueeze(0).numpy() for name in scaling(normaliser, scales)}
        normaliser.load(normaliser.state() | own)
    return normalisers


def scaling(normaliser: Normaliser, scales: Collection[str]) -> dict[str, NDArray[np.float64]]:
    """One body's statistics, `<observations or rewards>.<mean, variance or count>` → (K, ...): copies."""
    return {name: value for name, value in normaliser.state().items() if name.partition(".")[0] in scales}
