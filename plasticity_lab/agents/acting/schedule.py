"""Schedules of exploration, updates and target copies for agents with a memory: functions of a run's number of steps.

Steps are agent steps, all environments of a run together; a step in an Atari game is several of its frames.
Legend: K runs.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Exploration:
    """The probability of a random action: `start` until `warm_up` steps, then falling linearly to `final` within
    `decay` steps.

    start, final: (K,). Source: Dopamine's `linearly_decaying_epsilon` (Castro et al. 2018), which starts at 1.
    """

    start: Array
    final: Array
    warm_up: int
    decay: int

    def epsilon(self, step: int) -> Array:
        """The probability before an action, (K,). step: number of earlier steps of the run."""
        past = step - self.warm_up
        if past <= 0 or self.decay == 0:
            return self.start if past <= 0 else self.final
        left = max(0.0, 1.0 - past / self.decay)
        return self.final + (self.start - self.final) * left


@dataclass(frozen=True)
class Timetable:
    """Updates and target copies that are due after a number of steps.

    min_history: steps that the memory must hold before anything is learned, also after it was lost.
    update_period: steps between updates.
    target_period: steps between copies of the network into its target.
    gradient_steps: updates at each of these times, one after another.
    """

    min_history: int
    update_period: int
    target_period: int
    gradient_steps: int = 1

    def learns(self, held: int) -> bool:
        """Whether the memory holds enough to learn from."""
        return held > self.min_history

    def updates(self, before: int, after: int, held: int) -> int:
        """Number of updates due after the steps from `before` to `after`, if the memory holds `held` steps."""
        if not self.learns(held):
            return 0
        return self.gradient_steps * (after // self.update_period - before // self.update_period)

    def most_updates(self, steps: int) -> int:
        """Maximum number of updates in that many consecutive steps."""
        return self.gradient_steps * -(-steps // self.update_period)

    def copies(self, before: int, after: int) -> bool:
        """Whether a copy into the target is due after these steps and their updates."""
        return after // self.target_period > before // self.target_period

    def updates_of(self, position: int, steps: int, environments: int, emptied: bool) -> int:
        """Number of updates in the task at that position, if the memory is never lost.

        steps: steps of each task. emptied: whether each task begins with an empty memory.
        """
        begins = self.min_history // environments * environments
        first, end = position * steps, (position + 1) * steps
        first = min(first + begins if emptied else max(first, begins), end)
        return self.gradient_steps * (end // self.update_period - first // self.update_period)

    def all_updates(self, steps: int, environments: int) -> int:
        """Number of updates in a whole run that never loses its memory, given its steps and environments."""
        begins = self.min_history // environments * environments
        return self.gradient_steps * max(0, steps // self.update_period - begins // self.update_period)
