"""Copies of a MuJoCo body: MuJoCo steps each one; observations, rewards and terminations are computed for all at once.

Legend: M copies, E copies that start an episode, D numbers of an observation, A of an action.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Saved
from plasticity_lab.environments.mujoco.ant import Ant
from plasticity_lab.environments.mujoco.humanoid import Humanoid
from plasticity_lab.environments.mujoco.physics import Physics, Rules
from plasticity_lab.environments.mujoco.planar import HalfCheetah, Legged
from plasticity_lab.errors import PlasticityError


class MuJoCoBody:
    """M copies of a MuJoCo body: the steps of its Gymnasium class, without its wrappers, bit for bit.

    Actions are not clipped: MuJoCo clamps the forces, and the cost of an action uses its unclipped values, as in
    Gymnasium. If a copy breaks (see `Physics.advance`), its reward is NaN and it terminates; Gymnasium would silently
    continue from the model's first state.
    """

    def __init__(self, rules: Rules, copies: int) -> None:
        self._rules, self._physics = rules, Physics(rules.file, copies)
        self._seconds = self._physics.model.opt.timestep * rules.frame_skip
        self._place = np.zeros(copies)

    def check(self, name: str, low: Sequence[float], high: Sequence[float]) -> None:
        """Raises PlasticityError if the bounds of the model's actions are not these, (A,) each."""
        bounds = self._physics.model.actuator_ctrlrange
        if not np.array_equal(bounds, np.array([low, high]).T):
            raise PlasticityError(
                f"Gymnasium's {self._rules.file} takes actions within {bounds.tolist()}; the table of bodies says "
                f"{list(zip(low, high, strict=True))} of {name}: its numbers would be other ones."
            )

    def scale_friction(self, factors: NDArray[np.float64]) -> None:
        """Multiplies the friction of all geoms of each copy (M,), including the ground."""
        self._physics.scale_friction(factors.tolist())

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[np.float32]:
        """Starts an episode in these copies (E,); returns their observations, (E, D)."""
        model, begun = self._physics.model, copies.tolist()
        for at, stream in zip(begun, streams, strict=True):
            self._physics.start(at, *self._rules.noise(stream, model.nq, model.nv))
        now = self._physics.reading(begun)
        self._place[copies] = self._rules.place(model, now)
        return self._rules.observation(now).astype(np.float32)

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_]]:
        """Moves every copy, actions (M, A): observations (M, D), rewards (M,), which terminated (M,)."""
        rules, actions = self._rules, np.ascontiguousarray(actions)
        broke = self._physics.advance(actions, rules.frame_skip, rules.contact_forces)
        now = self._physics.reading()
        place = rules.place(self._physics.model, now)
        with np.errstate(over="ignore", invalid="ignore"):  # actions have no bounds
            rewards, terminated = rules.outcome((place - self._place) / self._seconds, actions, now)
            observations = rules.observation(now).astype(np.float32)
        self._place = place
        if broke:
            rewards[broke], terminated[broke] = np.nan, True
        return observations, rewards, terminated

    def pictures(self) -> NDArray[np.uint8]:
        """As `Physics.pictures`."""
        return self._physics.pictures()

    def state(self) -> dict[str, Saved]:
        """MuJoCo's state, with the accelerations that its solver starts from: "physics" (M, ...); and "place" (M,)."""
        return {"physics": self._physics.state(), "place": self._place.copy()}

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes back to what `state` gave."""
        self._physics.load(state["physics"])
        self._place = state["place"].copy()


# The rules of each of Gymnasium's MuJoCo bodies.

_HOPPER = Legged("hopper.xml", heights=(0.7, math.inf), angles=(-0.2, 0.2), states=100.0)
_WALKER = Legged("walker2d_v5.xml", heights=(0.8, 2.0), angles=(-1.0, 1.0))

RULES: dict[str, Rules] = {
    "halfcheetah": HalfCheetah(),
    "hopper": _HOPPER,
    "walker2d": _WALKER,
    "ant": Ant(),
    "humanoid": Humanoid(),
    "halfcheetah_v4": HalfCheetah(),
    "hopper_v4": replace(_HOPPER, paid_when_fallen=True),
    "walker2d_v4": replace(_WALKER, file="walker2d.xml", paid_when_fallen=True),
    "ant_v4": Ant(contact_forces=False, paid_when_fallen=True),
    "humanoid_v4": Humanoid(of_v4=True),
}
"""Rules by the body's name."""
