"""What agents that remember each step have alike, while they act in environments on the host.

Legend: K runs, N environments of each.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.environments.environments import Environments, Outcome

Array = NDArray[Any]


class Remembering:
    """A pack of runs in environments of one body.

    count: N. finite (K,): whether all that a run observed, did and was rewarded with is; what is not is taken as 0, and
    the environment goes on.
    """

    def __init__(self, environments: Environments, memory: Memory) -> None:
        self.environments, self.memory, self.body = environments, memory, environments.body
        self.count = environments.observations.shape[1]
        self.finite = np.ones(len(environments.observations), np.bool_)

    def take(self, observations: Array, action: Array, learned: Callable[[Array], Array]) -> Outcome:
        """A step of every environment, which is remembered.

        observations: what is shown now, finite. action: (K, N) or (K, N, A). learned: rewards (K, N) → what is learned
        from them.
        """
        first = self.environments.first
        outcome = self.environments.step(action)
        self.finite &= ~outcome.broken.any(axis=1)
        self.memory.add(
            frame=self.body.newest(observations),
            action=action,
            reward=learned(np.where(outcome.broken, 0.0, outcome.rewards)),
            terminated=outcome.terminated,
            truncated=outcome.truncated,
            life_lost=outcome.life_lost,
            first=first,
        )
        return outcome

    def sane(self, values: Array) -> Array:
        """Numbers (K, N, ...), finite; pixels always are."""
        if values.dtype == np.uint8:
            return values
        finite = np.isfinite(values)
        if finite.all():
            return values
        self.finite &= finite.reshape(len(finite), -1).all(axis=1)
        return np.where(finite, values, 0).astype(values.dtype)
