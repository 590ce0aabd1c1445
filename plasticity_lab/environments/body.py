"""What is known of a body before anything is built."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.errors import PlasticityError

# What every body's own code is: several copies of it, side by side. Episodes are counted by `Environments`.
#
# Legend: M copies, E of them that begin anew, D a frame's shape (`Body.frame`), A numbers of a continuous action.
#
# What it shows is of the body's `dtype`: float32, or uint8.

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


DTYPES = ("float32", "uint8")
"""What observations may be made of: numbers, or pixels."""


@dataclass(frozen=True)
class Body:
    """What planning and networks need to know of a body; environments check it where they are built.

    name: the word that chooses it. version: of its rules; returns under two versions cannot be compared. observation:
    shape of one observation, as an agent is shown it. dtype: of its numbers, float32, or uint8 for pixels, which
    networks are given as they are and take as 0 … 1 (see `Model.forward`). stack: how many frames an observation is
    made of, along its first axis, the oldest first; its simulation shows one at a time (`frame`). actions: how many
    there are to choose from, or how many numbers an action has. low, high: bounds of each of these numbers; None where
    one is chosen. max_steps: after which an episode is truncated. simulation: the number of copies → its own code,
    imported when called. source: where its rules are described. gymnasium: what Gymnasium calls it, empty where it has
    no such body. has_friction: whether its simulation is a `FrictionSimulation`. has_lives: whether it is a
    `LivesSimulation`. whole_episodes: whether every episode has exactly max_steps steps, and its rules end it.
    packages: Python packages that the simulation is made of, besides NumPy.
    """

    name: str
    version: str
    observation: tuple[int, ...]
    actions: int
    max_steps: int
    simulation: Callable[[int], Simulation]
    source: str
    gymnasium: str = ""
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    has_friction: bool = False
    packages: tuple[str, ...] = ()
    dtype: str = "float32"
    stack: int = 1
    has_lives: bool = False
    whole_episodes: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise PlasticityError(f"The body {self.name} shows {self.dtype}; it must be one of {', '.join(DTYPES)}.")
        if self.stack < 1 or self.observation[0] % self.stack:
            raise PlasticityError(
                f"The body {self.name} shows observations of shape {self.observation}, whose first axis cannot be a "
                f"stack of {self.stack} frames."
            )

    @property
    def discrete(self) -> bool:
        """Whether an action is one of `actions` choices, 0 … actions − 1; else it is that many numbers."""
        return self.low is None

    @property
    def bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """low and high, (A,) each, of an action that is numbers.  Raises PlasticityError where one is chosen."""
        if self.low is None or self.high is None:
            raise PlasticityError(f"An action of the body {self.name} is a choice, which has no bounds.")
        return self.low, self.high

    @property
    def frame(self) -> tuple[int, ...]:
        """Shape of what its simulation shows in a step: an observation, or the newest frame of one."""
        return (self.observation[0] // self.stack, *self.observation[1:])

    def newest(self, observations: NDArray[np.generic], axis: int = 2) -> NDArray[np.generic]:
        """The newest frame of each observation, whose own axes begin at `axis`; with it alone, a frame is kept once."""
        if self.stack == 1:
            return observations
        return observations[(slice(None),) * axis + (slice(-self.frame[0], None),)]

    @property
    def missing(self) -> list[str]:
        """Those of its packages that are not installed here; nothing is imported to see that."""
        return [name for name in self.packages if importlib.util.find_spec(name) is None]

    @property
    def action(self) -> tuple[int, ...]:
        """Shape of one action: () where one is chosen."""
        return () if self.discrete else (self.actions,)
