"""Ant: a torso on four legs."""

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.mujoco.physics import Outcome, Reading, Rules, squared

TORSO = 1  # the body after the world
HEIGHTS = (0.2, 1.0)  # bounds of the torso's height before a fall or a flight


@dataclass(frozen=True)
class Ant(Rules):
    """The reward is 1 plus the speed, minus 0.5 · |action|² and the cost of contacts; a fall or a flight terminates.

    contact_forces: whether they are observed and cost 0.0005 · |force|², each clipped at ±1, as in v5.
    paid_when_fallen: whether the last step of an episode also has the reward of 1, as up to v4.
    """

    file: str = "ant.xml"
    contact_forces: bool = True
    paid_when_fallen: bool = False

    def place(self, model: mujoco.MjModel, now: Reading) -> NDArray[np.float64]:
        """The torso's, from MuJoCo's last step: one of its steps behind the positions of joints."""
        return now["xpos"][:, TORSO, 0].copy()

    def observation(self, now: Reading) -> NDArray[np.float64]:
        """All positions except the first two, the velocities, and the contact forces on each body except the world."""
        shown = [now["qpos"][:, 2:], now["qvel"]]
        if self.contact_forces:
            forces = np.clip(now["cfrc_ext"][:, 1:], -1.0, 1.0)
            shown.append(forces.reshape(len(forces), -1))
        return np.concatenate(shown, axis=1)

    def outcome(self, speed: NDArray[np.float64], actions: NDArray[Any], now: Reading) -> Outcome:
        """Rewards, and which copies have fallen, flown too high, or lost a finite state."""
        height = now["qpos"][:, 2]
        stands = (HEIGHTS[0] <= height) & (height <= HEIGHTS[1])
        stands &= np.isfinite(np.concatenate((now["qpos"], now["qvel"]), axis=1)).all(axis=1)
        costs = 0.5 * squared(actions)
        if self.contact_forces:
            costs = costs + 5e-4 * squared(np.clip(now["cfrc_ext"], -1.0, 1.0))
        alive = 1.0 if self.paid_when_fallen else stands
        return (speed + alive) - costs, ~stands
