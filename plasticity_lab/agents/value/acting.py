"""Acting ε-greedily in environments, a step of all runs of a pack at a time, on the host.

Legend: K runs, N environments of each, D an observation's shape, A actions to choose from.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.network import ActingNetwork
from plasticity_lab.agents.acting.remembering import Remembering
from plasticity_lab.agents.acting.schedule import Exploration
from plasticity_lab.environments.environments import Environments, Outcome
from plasticity_lab.randomness.host import host_stream

Array = NDArray[Any]
BLOCK = 64
"""Steps of all environments for which numbers are drawn at once: a generator for each would cost as much as acting."""


class Draws:
    """What decides which actions are random, and which these are: a function of seed, purpose and step alone.

    purpose: nothing else may draw under it. position: of these draws, where there are several of the purpose.
    """

    def __init__(self, seeds: Sequence[int], environments: int, actions: int, purpose: str, *position: int) -> None:
        self._seeds, self._shape, self._actions = seeds, (BLOCK, environments), actions
        self._purpose, self._position = purpose, position
        self._block, self._chance, self._action = -1, np.zeros(0), np.zeros(0, np.int64)

    def at(self, step: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Uniform numbers in [0, 1) and actions, (K, N) each.  step: of all environments at once, from 0."""
        block, row = divmod(step, BLOCK)
        if block != self._block:
            streams = [host_stream(seed, self._purpose, *self._position, block) for seed in self._seeds]
            self._chance = np.stack([stream.random(self._shape) for stream in streams], axis=1)
            self._action = np.stack([stream.integers(self._actions, size=self._shape) for stream in streams], axis=1)
            self._block = block
        return self._chance[row], self._action[row]


def epsilon_greedy(q: Array, epsilon: NDArray[np.float64], chance: Array, action: Array) -> NDArray[np.int64]:
    """q (K, N, A), epsilon (K,), and what `Draws.at` gives → actions (K, N): drawn, or the first of the greatest q."""
    return np.where(chance < epsilon[:, None], action, q.argmax(axis=2))


class Actor(Remembering):
    """A pack of runs that act in environments of one body and remember each step.

    seeds: of their draws. clip_rewards: whether what is remembered of a reward lies between −1 and 1.
    """

    def __init__(
        self,
        environments: Environments,
        network: ActingNetwork,
        memory: Memory,
        seeds: Sequence[int],
        exploration: Exploration,
        clip_rewards: bool,
    ) -> None:
        super().__init__(environments, memory)
        self.network, self.exploration, self.clip_rewards = network, exploration, clip_rewards
        self.draws = Draws(seeds, self.count, self.body.actions, "acting")

    def step(self, before: int) -> Outcome:
        """Acts once in every environment.  before: steps of the run before that, all its environments together.

        The network is not asked while all actions are drawn.
        """
        observations, epsilon = self.sane(self.environments.observations), self.exploration.epsilon(before)
        chance, action = self.draws.at(before // self.count)
        if (epsilon < 1).any():
            action = epsilon_greedy(self.network(observations, before)["q"], epsilon, chance, action)
        return self.take(observations, action, self._learned)

    def _learned(self, rewards: Array) -> Array:
        return np.clip(rewards, -1, 1) if self.clip_rewards else rewards
