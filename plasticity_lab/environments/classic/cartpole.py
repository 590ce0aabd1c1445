"""Cart-pole: a cart on a track is pushed left or right, so that the pole hinged on it does not fall.

Legend: M copies, E copies that start an episode.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Saved

GRAVITY = 9.8  # m/s²
POLE_MASS = 0.1  # kg
MASS = 1.0 + POLE_MASS  # cart and pole
HALF_LENGTH = 0.5  # m, half the length of the pole
FORCES = np.array([-10.0, 10.0])  # N, for actions 0 and 1
SECONDS = 0.02  # length of a step
TRACK = 2.4  # m to either side of the middle
UPRIGHT = 12 * 2 * math.pi / 360  # rad to either side
START = 0.05  # bound of all four numbers when an episode begins


class CartPole:
    """M cart-poles, in float64.  Every step has a reward of 1, including the last one.

    An observation is the cart's position and velocity, and the pole's angle and angular velocity; all four begin
    uniform in ±0.05. It terminates if the cart is farther than 2.4 m from the middle, or the pole leans by more than 12
    degrees. One Euler step, without friction.
    Source: Barto, Sutton & Anderson 1983, in the form of Gymnasium's CartPole-v1, operation by operation.
    """

    def __init__(self, copies: int) -> None:
        self.physics = np.zeros((4, copies))  # a row for each number of the observation

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[np.float32]:
        """Starts an episode in these copies (E,); returns their observations, (E, 4)."""
        drawn = np.stack([stream.uniform(-START, START, 4) for stream in streams])
        self.physics[:, copies] = drawn.T
        return drawn.astype(np.float32)

    def step(self, actions: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_]]:
        """Pushes every cart, actions (M,): observations (M, 4), rewards (M,), which terminated (M,)."""
        _, velocity, angle, turning = self.physics
        sine, cosine = sine_and_cosine(angle)
        push = (FORCES[actions] + POLE_MASS * HALF_LENGTH * np.square(turning) * sine) / MASS
        turning_faster = (GRAVITY * sine - cosine * push) / (
            HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * np.square(cosine) / MASS)
        )
        faster = push - POLE_MASS * HALF_LENGTH * turning_faster * cosine / MASS
        self.physics = self.physics + SECONDS * np.stack([velocity, faster, turning, turning_faster])
        terminated = (np.abs(self.physics[0]) > TRACK) | (np.abs(self.physics[2]) > UPRIGHT)
        return self.physics.T.astype(np.float32, order="C"), np.ones(len(terminated)), terminated

    def state(self) -> dict[str, Saved]:
        """One entry, "physics" (M, 4): the observations before they are rounded to float32."""
        return {"physics": self.physics.T.copy()}

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes back to what `state` gave."""
        self.physics = np.array(state["physics"].T, np.float64, order="C")


# Sines and cosines with bits that do not depend on the number of angles.

WHOLE = 32
"""A multiple of the number of float64 in a vector of any processor (AVX-512: 8; the widest SVE: 32)."""


def sine_and_cosine(angles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sine and the cosine of each angle, (M,) each.

    NumPy rounds +, −, ·, / and √ exactly on any code path. It does not for sine and cosine: a single number, or the
    remainder at an array's end, may be computed by code with different last bits. So only whole vectors are passed.
    """
    whole = np.zeros(-(-len(angles) // WHOLE) * WHOLE)
    whole[: len(angles)] = angles
    return np.sin(whole)[: len(angles)], np.cos(whole)[: len(angles)]
