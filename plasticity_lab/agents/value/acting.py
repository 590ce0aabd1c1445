"""Acting ε-greedily in environments, a step of all runs of a pack at a time, on the host.

Legend: K runs, N environments of each, A actions to choose from.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.network import ActingNetwork
from plasticity_lab.agents.acting.remembering import BLOCK, Draws, Remembering
from plasticity_lab.agents.acting.schedule import Exploration
from plasticity_lab.environments.environments import Environments, Outcome

Array = NDArray[Any]


def exploring(seeds: Sequence[int], environments: int, actions: int, purpose: str, *position: int) -> Draws:
    """For each step, random actions and uniform numbers in [0, 1) that decide whether an action is random: (K, N)
    each.
    """
    shape = (BLOCK, environments)
    return Draws(seeds, lambda stream: (stream.random(shape), stream.integers(actions, size=shape)), purpose, *position)


def epsilon_greedy(q: Array, epsilon: NDArray[np.float64], chance: Array, action: Array) -> NDArray[np.int64]:
    """q (K, N, A), epsilon (K,), and numbers of `exploring` → actions (K, N): random, or the first greatest q."""
    return np.where(chance < epsilon[:, None], action, q.argmax(axis=2))


class Actor(Remembering):
    """A pack of runs that act in environments of one body and remember each step.

    seeds: seeds of their draws.
    clip_rewards: whether remembered rewards are clipped to −1 … 1.
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
        self.draws = exploring(seeds, self.count, self.body.actions, "acting")

    def step(self, before: int) -> Outcome:
        """Acts once in every environment. While all actions are random, the network is not evaluated."""
        observations, epsilon = self.sane(self.environments.observations), self.exploration.epsilon(before)
        chance, action = self.draws.at(before // self.count)
        if (epsilon < 1).any():
            action = epsilon_greedy(self.network(observations, before)["q"], epsilon, chance, action)
        return self.take(observations, action, self._learned)

    def _learned(self, rewards: Array) -> Array:
        return np.minimum(np.maximum(rewards, -1), 1) if self.clip_rewards else rewards
