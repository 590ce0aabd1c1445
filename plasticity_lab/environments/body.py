"""What is known of a body before anything is built."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.simulation import Simulation
from plasticity_lab.errors import PlasticityError

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
