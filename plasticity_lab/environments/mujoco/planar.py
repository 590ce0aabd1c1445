"""HalfCheetah, Hopper and Walker2d: bodies that run in a plane. Positions: along the ground, height, angle, joints.

The first position gives the speed, and an observation leaves it out.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.mujoco.physics import Noise, Outcome, Reading, Rules, squared


@dataclass(frozen=True)
class HalfCheetah(Rules):
    """The reward is the speed minus 0.1 · |action|²; it never terminates."""

    file: str = "half_cheetah.xml"

    def observation(self, now: Reading) -> NDArray[np.float64]:
        """All positions except the first, and the velocities."""
        return np.concatenate((now["qpos"][:, 1:], now["qvel"]), axis=1)

    def outcome(self, speed: NDArray[np.float64], actions: NDArray[Any], now: Reading) -> Outcome:
        """Rewards, and False for all copies."""
        return speed - 0.1 * squared(actions), np.zeros(len(speed), np.bool_)


@dataclass(frozen=True)
class Legged(Rules):
    """Hopper and Walker2d: the reward is 1 plus the speed minus 0.001 · |action|²; a fall terminates.

    heights, angles: bounds before a fall. states: bound of all other positions and of all velocities. paid_when_fallen:
    whether the last step of an episode also has the reward of 1, as up to v4.
    """

    frame_skip: int = 4
    heights: tuple[float, float] = (-math.inf, math.inf)
    angles: tuple[float, float] = (-math.inf, math.inf)
    states: float | None = None
    paid_when_fallen: bool = False

    def noise(self, stream: np.random.Generator, positions: int, velocities: int) -> Noise:
        """All uniform in ±0.005."""
        return stream.uniform(-5e-3, 5e-3, positions), stream.uniform(-5e-3, 5e-3, velocities)

    def observation(self, now: Reading) -> NDArray[np.float64]:
        """All positions except the first, and the velocities clipped at ±10."""
        return np.concatenate((now["qpos"][:, 1:], np.clip(now["qvel"], -10, 10)), axis=1)

    def outcome(self, speed: NDArray[np.float64], actions: NDArray[Any], now: Reading) -> Outcome:
        """Rewards, and which copies have fallen."""
        height, angle = now["qpos"][:, 1], now["qpos"][:, 2]
        stands = (self.heights[0] < height) & (height < self.heights[1])
        stands &= (self.angles[0] < angle) & (angle < self.angles[1])
        if self.states is not None:
            others = np.concatenate((now["qpos"][:, 2:], now["qvel"]), axis=1)
            stands &= (np.abs(others) < self.states).all(axis=1)
        alive = 1.0 if self.paid_when_fallen else stands
        return (speed + alive) - 1e-3 * squared(actions), ~stands
