"""When an agent with a memory explores, learns and copies its target: functions of how many steps a run has taken.

Steps are agent steps, all environments of a run together; one of an Atari game is several of its frames.
Legend: K runs.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Exploration:
    """How likely an action is drawn at random: `start` until `warm_up` steps, then falling linearly within `decay`
    steps to `final`.

    start, final: (K,). Source: Dopamine's `linearly_decaying_epsilon` (Castro et al. 2018), whose start is 1.
    """

    start: Array
    final: Array
    warm_up: int
    decay: int

    def epsilon(self, step: int) -> Array:
        """Before an action; step: of the run before it.  (K,)."""
        past = step - self.warm_up
        if past <= 0 or self.decay == 0:
            return self.start if past <= 0 else self.final
        left = max(0.0, 1.0 - past / self.decay)
        return self.final + (self.start - self.final) * left


@dataclass(frozen=True)
class Timetable:
    """What is due by the time a run has taken that many steps.

    min_history: steps that the memory must hold before anything is learned; also once more where it was lost.
    update_period: steps between updates. target_period: steps between copies of the network into its target.
    """

    min_history: int
    update_period: int
    target_period: int

    def learns(self, held: int) -> bool:
        """Whether the memory holds enough to learn from."""
        return held > self.min_history

    def updates(self, before: int, after: int, held: int) -> int:
        """How many updates are due after the steps from `before` to `after`, where the memory holds `held`."""
        if not self.learns(held):
            return 0
        return after // self.update_period - before // self.update_period

    def copies(self, before: int, after: int) -> bool:
        """Whether the target is to be copied after these steps and their updates."""
        return after // self.target_period > before // self.target_period

    def all_updates(self, steps: int, environments: int) -> int:
        """Of a whole run that never loses its memory, by its steps and its environments."""
        begins = self.min_history // environments * environments
        return max(0, steps // self.update_period - begins // self.update_period)
