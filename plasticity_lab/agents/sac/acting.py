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
from plasticity_lab.agents.acting.remembering import Remembering
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


class Actor(Remembering):
    """A pack of runs that act in environments of one body and remember each step.

    bounds: what `bounds_of` gives, on the host. warm_up: steps of a run, all its environments together, in which
    actions are drawn uniformly within the body's bounds. reward_scale: (K,), by which what is remembered of a reward is
    multiplied.
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
        super().__init__(environments, memory)
        self.network, self.bounds, self.warm_up, self.reward_scale = network, bounds, warm_up, reward_scale
        self.low, self.high = (np.array(bound, np.float32) for bound in self.body.bounds)
        self.draws = Draws(seeds, self.count, self.body.actions)

    def step(self, before: int) -> Outcome:
        """Acts once in every environment.  before: steps of the run before that, all its environments together."""
        observations = self.sane(self.environments.observations)
        normal, uniform = self.draws.at(before // self.count)
        if before < self.warm_up:
            action = self.low + (self.high - self.low) * uniform
        else:
            answered = self.network(observations.reshape(*observations.shape[:2], -1), before)
            action = on_host(self.sane(answered["mean"] + answered["deviation"] * normal), self.bounds)
        return self.take(observations, action, lambda rewards: rewards * self.reward_scale[:, None])
