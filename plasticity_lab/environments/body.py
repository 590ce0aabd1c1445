"""What is known of a body before anything is built."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

from plasticity_lab.environments.simulation import Simulation


@dataclass(frozen=True)
class Body:
    """What planning and networks need to know of a body; environments check it where they are built.

    name: the word that chooses it. version: of its rules; returns under two versions cannot be compared.
    observation: shape of one observation, which is float32. actions: how many there are to choose from, or how many
    numbers an action has. low, high: bounds of each of these numbers; None where one is chosen. max_steps: after which
    an episode is truncated. simulation: the number of copies → its own code, imported when called. source: where its
    rules are described. gymnasium: what Gymnasium calls it, empty where it has no such body. has_friction: whether its
    simulation is a `FrictionSimulation`. packages: Python packages that the simulation is made of, besides NumPy.
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

    @property
    def discrete(self) -> bool:
        """Whether an action is one of `actions` choices, 0 … actions − 1; else it is that many numbers."""
        return self.low is None

    @property
    def missing(self) -> list[str]:
        """Those of its packages that are not installed here; nothing is imported to see that."""
        return [name for name in self.packages if importlib.util.find_spec(name) is None]

    @property
    def action(self) -> tuple[int, ...]:
        """Shape of one action: () where one is chosen."""
        return () if self.discrete else (self.actions,)
