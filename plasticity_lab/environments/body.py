"""The description of an environment, available before anything is built."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.errors import PlasticityError

# The interface of an environment's code: several copies, stepped together. `Environments` counts episodes.
#
# Legend: M copies, E copies that start an episode, D a frame's shape (`Body.frame`), A numbers of a continuous action.
#
# Observations have the body's `dtype`: float32, or uint8.

Saved = NDArray[Any] | list[bytes]
"""One entry of a simulation's saved state: an array (M, ...), or bytes of any length for each of the M copies."""


class Simulation(Protocol):
    """The simulation of M copies of one environment. Each copy is independent of the others, bit for bit, for any M.

    It does not track episodes: a copy continues from its present state until it is started again. Returned arrays are
    not written to afterwards.
    """

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[Any]:
        """Starts these copies (E,), each with random numbers of its stream; returns their observations, (E, D).

        An error in one copy does not affect the others, and raises nothing: its observation becomes NaN.
        """
        ...

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_]]:
        """One step of every copy: observations (M, D), rewards (M,), and which copies terminated (M,).

        actions: (M,) whole numbers below the body's `actions`, or (M, A), unclipped. An error in one copy does not
        affect the others, and raises nothing: its reward becomes NaN.
        """
        ...

    def state(self) -> dict[str, Saved]:
        """The complete state that the next steps depend on, name → (M, ...): copies, which later steps do not change.

        It includes derived quantities if a step reads their values from the step before (for example MuJoCo's positions
        of bodies). The state of foreign code, such as an emulator, is bytes for each copy, of any length.
        """
        ...

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores a result of `state`, and keeps none of its arrays."""
        ...


class FrictionSimulation(Simulation, Protocol):
    """A simulation with friction."""

    def scale_friction(self, factors: NDArray[np.float64]) -> None:
        """Multiplies the friction of all contacts of each copy, also with itself, by that copy's factor (M,).

        The factor is relative to the original friction, so a factor of 1 restores it. Not a part of `state`. Raises
        ConfigError if a factor is negative or not finite.
        """
        ...


class LivesSimulation(Simulation, Protocol):
    """A simulation with several lives in an episode."""

    def life_lost(self) -> NDArray[np.bool_]:
        """Which copies lost a life in the last step, (M,), whether or not their episode ended with it."""
        ...


class DrawnSimulation(Simulation, Protocol):
    """A simulation that draws pictures for people."""

    def pictures(self) -> NDArray[np.uint8]:
        """The present state of each copy as RGB, (M, 3, H, W).  Raises ConfigError if this machine cannot draw it."""
        ...


DTYPES = ("float32", "uint8")
"""The types of observations: numbers, or pixels."""


@dataclass(frozen=True)
class Body:
    """The description of an environment for planning and networks; `Environments` checks it when it builds one.

    name: the name in the configuration. version: the version of its rules; returns under two versions cannot be
    compared. observation: shape of one observation, as an agent receives it. dtype: its type, float32, or uint8 for
    pixels; networks receive pixels unchanged and scale them to 0 … 1 (see `Model.forward`). stack: number of frames in
    an observation, along its first axis, the oldest first; its simulation returns one at a time (`frame`). actions:
    number of discrete actions, or number of values of a continuous one. low, high: bounds of each of these values; None
    for discrete actions. max_steps: limit that truncates an episode. simulation: number of copies → its simulation,
    imported when called. source: description of its rules. gymnasium: its name in Gymnasium, empty if Gymnasium does
    not have it. has_friction: whether its simulation is a `FrictionSimulation`. has_lives: whether it is a
    `LivesSimulation`. is_drawn: whether it is a `DrawnSimulation`. whole_episodes: whether every episode has exactly
    max_steps steps, and its rules end it. packages: Python packages that the simulation needs, besides NumPy. packs_to:
    the greatest share of its frames' bytes that a replay memory takes if it compresses them; None: not measured.
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
    is_drawn: bool = False
    whole_episodes: bool = False
    packs_to: float | None = None

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise PlasticityError(f"The body {self.name} shows {self.dtype}; it must be one of {', '.join(DTYPES)}.")
        if self.stack < 1 or self.observation[0] % self.stack:
            raise PlasticityError(
                f"The body {self.name} shows observations of shape {self.observation}; their first axis cannot be a "
                f"stack of {self.stack} frames."
            )

    @property
    def discrete(self) -> bool:
        """Whether an action is one of `actions` choices, 0 … actions − 1; otherwise it is that many numbers."""
        return self.low is None

    @property
    def bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """low and high of a continuous action, (A,) each.  Raises PlasticityError if actions are discrete."""
        if self.low is None or self.high is None:
            raise PlasticityError(f"An action of the body {self.name} is a choice, which has no bounds.")
        return self.low, self.high

    @property
    def frame(self) -> tuple[int, ...]:
        """Shape of the simulation's result in a step: an observation, or its newest frame."""
        return (self.observation[0] // self.stack, *self.observation[1:])

    @property
    def has_pictures(self) -> bool:
        """Whether it is drawn, or a frame is a picture: pixels or the cells of a board, (C, H, W)."""
        return self.is_drawn or (self.dtype == "uint8" and len(self.observation) == 3)

    def newest(self, observations: NDArray[np.generic], axis: int = 2) -> NDArray[np.generic]:
        """The newest frame of each observation; the observation's axes begin at `axis`. Used to store each frame only
        once.
        """
        if self.stack == 1:
            return observations
        return observations[(slice(None),) * axis + (slice(-self.frame[0], None),)]

    @property
    def missing(self) -> list[str]:
        """The names of its packages that are not installed here; checked without importing anything."""
        return [name for name in self.packages if importlib.util.find_spec(name) is None]

    @property
    def action(self) -> tuple[int, ...]:
        """Shape of one action: () if actions are discrete."""
        return () if self.discrete else (self.actions,)
