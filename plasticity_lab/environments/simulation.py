"""What every body's own code is: several copies of it, side by side. Episodes are counted by `Environments`.

Legend: M copies, E of them that begin anew, D a frame's shape (`Body.frame`), A numbers of a continuous action.

What it shows is of the body's `dtype`: float32, or uint8.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Saved = NDArray[Any] | list[bytes]
"""One entry of what a simulation saves: an array (M, ...), or bytes of any length for each of the M copies."""


class Simulation(Protocol):
    """M copies of one body.  Copy m reads nothing of the others, and its bits do not depend on M.

    It knows no episodes: a copy goes on from wherever it stands, until it is started again. What it returns is not
    written to afterwards.
    """

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[Any]:
        """Begins these copies (E,) anew, each with the numbers of its own stream; their observations, (E, D).

        What goes wrong in one copy does not reach the others, and raises nothing: its observation is not a number.
        """
        ...

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_]]:
        """One step of every copy: observations (M, D), rewards (M,), and which copies terminated (M,).

        actions: (M,) whole numbers below the body's `actions`, or (M, A) as they came, within its bounds or not. What
        goes wrong in one copy does not reach the others, and raises nothing: its reward is not a number.
        """
        ...

    def state(self) -> dict[str, Saved]:
        """All that the next steps depend on, name → (M, ...): copies, which later steps leave as they are.

        Derived quantities too, where a step reads those of the step before (MuJoCo's positions of bodies, say). What
        somebody else's code has written, as an emulator has, is bytes for each copy, of whatever length.
        """
        ...

    def load(self, state: Mapping[str, Any]) -> None:
        """Goes back to what `state` gave, and keeps none of its arrays."""
        ...


class FrictionSimulation(Simulation, Protocol):
    """A body that rubs against something."""

    def scale_friction(self, factors: NDArray[np.float64]) -> None:
        """Multiplies the friction of everything that a copy touches, with itself too, by that copy's factor (M,).

        Always of the body's own friction, so that factors of 1 go back to it. No part of `state`. Raises ConfigError if
        a factor is negative or not finite.
        """
        ...


class LivesSimulation(Simulation, Protocol):
    """A body that has several lives in an episode."""

    def life_lost(self) -> NDArray[np.bool_]:
        """Which copies lost a life in the last step, (M,), whether or not their episode ended with it."""
        ...
