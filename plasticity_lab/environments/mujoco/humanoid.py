"""Humanoid: two legs, two arms, and a tendon on each side."""

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.mujoco.physics import Noise, Outcome, Reading, Rules, squared

HEIGHTS = (1.0, 2.0)  # bounds of the torso's height before a fall
SHOWN = ("qpos", "qvel", "cinert", "cvel", "qfrc_actuator", "cfrc_ext")
SKIPPED = {"qpos": 2, "cinert": 1, "cvel": 1, "qfrc_actuator": 6, "cfrc_ext": 1}
"""Number of first rows to skip: the place, the world's body, and the torso, which has no motor."""


@dataclass(frozen=True)
class Humanoid(Rules):
    """The reward is 5 plus 1.25 · the speed, minus 0.1 · |action|² and the cost of contacts; a fall terminates.

    of_v4: observes the rows of the world and of the torso's motors too, which are always 0; contacts cost nothing, and
    the last step of an episode also has the reward of 5.
    """

    file: str = "humanoid.xml"
    contact_forces: bool = True
    of_v4: bool = False

    def noise(self, stream: np.random.Generator, positions: int, velocities: int) -> Noise:
        """All uniform in ±0.01."""
        return stream.uniform(-1e-2, 1e-2, positions), stream.uniform(-1e-2, 1e-2, velocities)

    def place(self, model: mujoco.MjModel, now: Reading) -> NDArray[np.float64]:
        """The position of the centre of mass; one copy after the other, to use the same order of summation as
        Gymnasium.
        """
        mass = model.body_mass
        moments = [np.einsum("b,bj->j", mass, bodies)[0] for bodies in now["xipos"]]
        return np.array(moments) / mass.sum()

    def observation(self, now: Reading) -> NDArray[np.float64]:
        """Positions and velocities; inertia and velocity of each body; the motors' forces; and contact forces."""
        shown = []
        for name in SHOWN:
            skipped = SKIPPED.get(name, 0) if name == "qpos" or not self.of_v4 else 0
            values = now[name][:, skipped:]
            shown.append(values.reshape(len(values), -1))
        return np.concatenate(shown, axis=1)

    def outcome(self, speed: NDArray[np.float64], actions: NDArray[Any], now: Reading) -> Outcome:
        """Rewards, and which copies have fallen or flown too high.  The cost uses MuJoCo's controls: float64."""
        height = now["qpos"][:, 2]
        stands = (HEIGHTS[0] < height) & (height < HEIGHTS[1])
        costs = 0.1 * squared(now["ctrl"])
        if not self.of_v4:
            costs = costs + np.clip(5e-7 * squared(now["cfrc_ext"]), -np.inf, 10.0)
        alive = 5.0 * (np.ones_like(speed) if self.of_v4 else stands)
        return (1.25 * speed + alive) - costs, ~stands
