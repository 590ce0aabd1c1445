"""Acting in environments on the host, for agents with a replay memory.

Legend: K runs, N environments of each.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.environments.environments import Environments, Outcome
from plasticity_lab.randomness.host import host_stream

Array = NDArray[Any]
BLOCK = 64
"""Number of steps drawn at once: a new generator for each step would cost as much as acting."""


class Draws:
    """Random numbers for actions: a function of seed, purpose, position and step alone.

    seeds: seeds of the K runs.
    draw: generator → the numbers of a run for BLOCK steps, arrays (BLOCK, N, ...).
    purpose: must differ from the purpose of all other draws.
    position: distinguishes several draws of one purpose.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        draw: Callable[[np.random.Generator], tuple[Array, ...]],
        purpose: str,
        *position: int,
    ) -> None:
        self._seeds, self._draw, self._purpose, self._position = seeds, draw, purpose, position
        self._block, self._drawn = -1, list[Array]()

    def at(self, step: int) -> list[Array]:
        """The numbers for a step of all environments, counted from 0: (K, N, ...) for each array of `draw`."""
        block, row = divmod(step, BLOCK)
        if block != self._block:
            drawn = [self._draw(host_stream(seed, self._purpose, *self._position, block)) for seed in self._seeds]
            self._drawn = [np.stack(runs, axis=1) for runs in zip(*drawn, strict=True)]
            self._block = block
        return [numbers[row] for numbers in self._drawn]


class Remembering:
    """A pack of runs in environments of one body, with a replay memory.

    count: N.
    finite (K,): whether all observations, actions and rewards of a run have been finite. Values that are not finite are
        replaced by 0, and the environment continues.
    """

    def __init__(self, environments: Environments, memory: Memory) -> None:
        self.environments, self.memory, self.body = environments, memory, environments.body
        self.count = environments.observations.shape[1]
        self.finite = np.ones(len(environments.observations), np.bool_)

    def step(self, before: int) -> Outcome:
        """Acts once in every environment.  before: steps of the run so far, all its environments together."""
        raise NotImplementedError

    def take(self, observations: Array, action: Array, learned: Callable[[Array], Array]) -> Outcome:
        """Takes a step in every environment and adds it to the memory.

        observations: the current ones, finite.
        action: (K, N) or (K, N, A).
        learned: rewards (K, N) → the rewards to remember.
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
        """The numbers (K, N, ...) with 0 in place of values that are not finite; pixels are always finite."""
        if values.dtype == np.uint8:
            return values
        finite = np.isfinite(values)
        if finite.all():
            return values
        self.finite &= finite.reshape(len(finite), -1).all(axis=1)
        return np.where(finite, values, 0).astype(values.dtype)
