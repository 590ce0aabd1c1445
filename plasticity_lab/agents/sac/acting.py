"""Acting by the policy in environments, a step of all runs of a pack at a time, on the host.

Legend: K runs, N environments of each, D an observation's shape, A numbers of an action.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.network import ActingNetwork
from plasticity_lab.agents.sac.policy import on_host
from plasticity_lab.environments.environments import Environments, Outcome
from plasticity_lab.randomness.host import host_stream

Array = NDArray[Any]
BLOCK = 64
"""Steps of all environments for which numbers are drawn at once: a generator for each would cost as much as acting."""


class Draws:
    """What actions are drawn by: a function of seed and step alone."""

    def __init__(self, seeds: Sequence[int], environments: int, actions: int) -> None:
        self._seeds, self._shape = seeds, (BLOCK, environments, actions)
        self._block, self._normal, self._uniform = -1, np.zeros(0, np.float32), np.zeros(0, np.float32)

    def at(self, step: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Standard normal numbers, and uniform ones in [0, 1), (K, N, A) each.  step: of all environments, from 0."""
        block, row = divmod(step, BLOCK)
        if block != self._block:
            streams = [host_stream(seed, "acting", block) for seed in self._seeds]
            self._normal = np.stack([stream.standard_normal(self._shape, np.float32) for stream in streams], axis=1)
            self._uniform = np.stack([stream.random(self._shape, np.float32) for stream in streams], axis=1)
            self._block = block
        return self._normal[row], self._uniform[row]


class Actor:
    """A pack of runs that act in environments of one body and remember each step.

    warm_up: steps of a run, all its environments together, in which actions are drawn uniformly within the body's
    bounds. bounds: what `bounds_of` gives, on the host. reward_scale: (K,), by which what is remembered of a reward is
    multiplied. What is not finite in an observation, an action or a reward is taken as 0, and its run is named
    (`finite`): the environment goes on.
    """

    def __init__(
        self,
        environments: Environments,
        network: ActingNetwork,
        memory: Memory,
        bounds: Mapping[str, Tensor],
        seeds: Sequence[int],
        warm_up: int,
        reward_scale: NDArray[np.float64],
    ) -> None:
        self.environments, self.network, self.memory, self.bounds = environments, network, memory, bounds
        self.body, self.warm_up, self.reward_scale = environments.body, warm_up, reward_scale
        self.low, self.high = (np.array(bound, np.float32) for bound in self.body.bounds)
        self.count = environments.observations.shape[1]
        self.draws = Draws(seeds, self.count, self.body.actions)
        self.finite = np.ones(len(seeds), np.bool_)

    def step(self, before: int) -> Outcome:
        """Acts once in every environment.  before: steps of the run before that, all its environments together."""
        observations, first = self._sane(self.environments.observations), self.environments.first
        normal, uniform = self.draws.at(before // self.count)
        if before < self.warm_up:
            action = self.low + (self.high - self.low) * uniform
        else:
            answered = self.network(observations.reshape(*observations.shape[:2], -1), before)
            action = on_host(self._sane(answered["mean"] + answered["deviation"] * normal), self.bounds)
        outcome = self.environments.step(action)
        self.finite &= ~outcome.broken.any(axis=1)
        rewards = np.where(outcome.broken, 0.0, outcome.rewards)
        self.memory.add(
            frame=self.body.newest(observations),
            action=action,
            reward=rewards * self.reward_scale[:, None],
            terminated=outcome.terminated,
            truncated=outcome.truncated,
            life_lost=outcome.life_lost,
            first=first,
        )
        return outcome

    def _sane(self, values: Array) -> Array:
        """Numbers (K, N, ...), finite."""
        finite = np.isfinite(values)
        if finite.all():
            return values
        self.finite &= finite.reshape(len(finite), -1).all(axis=1)
        return np.where(finite, values, 0).astype(values.dtype)
