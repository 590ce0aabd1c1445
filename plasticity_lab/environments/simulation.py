"""What every body's own code is: several copies of it, side by side. Episodes are counted by `Environments`.

Legend: M copies, E of them that begin anew, D an observation's shape, A numbers of a continuous action.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Simulation(Protocol):
    """M copies of one body.  Copy m reads nothing of the others, and its bits do not depend on M.

    It knows no episodes: a copy goes on from wherever it stands, until it is started again. What it returns is not
    written to afterwards.
    """

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[np.float32]:
        """Begins these copies (E,) anew, each with the numbers of its own stream; their observations, (E, D).

        What goes wrong in one copy does not reach the others, and raises nothing: its observation is not a number.
        """
        ...

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_]]:
        """One step of every copy: observations (M, D), rewards (M,), and which copies terminated (M,).

        actions: (M,) whole numbers below the body's `actions`, or (M, A) as they came, within its bounds or not. What
        goes wrong in one copy does not reach the others, and raises nothing: its reward is not a number.
        """
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """All that the next steps depend on, name → (M, ...): copies, which later steps leave as they are.

        Derived quantities too, where a step reads those of the step before (MuJoCo's positions of bodies, say).
        """
        ...

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
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
