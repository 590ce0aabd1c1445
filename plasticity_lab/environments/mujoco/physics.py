"""MuJoCo's part of a simulation: one model, and the data of M copies of it, stepped one after the other.

Legend: M copies, E of them that are read, U actuators, Q positions and V velocities of a copy's joints.
"""

import copy
import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from plasticity_lab.errors import ConfigError

# MuJoCo writes its warnings to the terminal and to a file in the current folder, unless a handler is set. Lost states
# are read from the counters of warnings instead (`Physics.advance`).
if mujoco.get_mju_user_warning() is None:
    mujoco.set_mju_user_warning(lambda text: None)

SAVED = int(mujoco.mjtState.mjSTATE_FULLPHYSICS | mujoco.mjtState.mjSTATE_WARMSTART)
"""The data that mj_step reads, except for the controls, which are set before each step. It computes all other
fields."""
LOST = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADQACC) + 1)
"""The counters of warnings that come with a reset of the data to the model's first state."""

Noise = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Differences of positions and velocities from the model's first state."""
Outcome = tuple[NDArray[np.float64], NDArray[np.bool_]]
"""Rewards, and which copies terminated, (M,) each."""


class Reading(dict[str, NDArray[Any]]):
    """Fields of the data of some copies, name → (E, ...): copies of the arrays, each gathered at its first use."""

    def __init__(
        self, data: Sequence[mujoco.MjData], views: dict[str, list[NDArray[Any]]], copies: Sequence[int] | None
    ):
        self._data, self._views, self._copies = data, views, copies

    def __missing__(self, name: str) -> NDArray[Any]:
        if name not in self._views:  # views of data stay valid as long as it lives
            self._views[name] = [getattr(data, name) for data in self._data]
        views = self._views[name]
        if self._copies is not None:
            views = [views[at] for at in self._copies]
        self[name] = np.concatenate(views).reshape(len(views), *views[0].shape)
        return self[name]


@dataclass(frozen=True)
class Rules:
    """The computations of a Gymnasium class from MuJoCo's numbers, in the same order, so that the bits are equal.

    file: the file of the model. frame_skip: number of MuJoCo's steps in one of ours. contact_forces: whether cfrc_ext
    is read.
    """

    file: str
    frame_skip: int = 5
    contact_forces: bool = False

    def noise(self, stream: np.random.Generator, positions: int, velocities: int) -> Noise:
        """The initial differences: by default positions uniform in ±0.1, velocities normal with a deviation of 0.1."""
        return stream.uniform(-0.1, 0.1, positions), 0.1 * stream.standard_normal(velocities)

    def place(self, model: mujoco.MjModel, now: Reading) -> NDArray[np.float64]:
        """The distance that each copy has moved, (E,); its speed is computed from it. By default the first position."""
        return now["qpos"][:, 0].copy()

    def observation(self, now: Reading) -> NDArray[np.float64]:
        """The observation of each copy, (E, D)."""
        raise NotImplementedError

    def outcome(self, speed: NDArray[np.float64], actions: NDArray[Any], now: Reading) -> Outcome:
        """Rewards and which copies terminated, (M,) each, after a step at that speed (M,) by these actions (M, A)."""
        raise NotImplementedError


class Physics:
    """M copies of one of Gymnasium's models.  Raises ConfigError if Gymnasium has no model of that name.

    No copy reads another's data, and a model is never changed after it was loaded: copies with different friction have
    separate models.
    """

    def __init__(self, file: str, copies: int) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(_models() / file))
        self._data = [mujoco.MjData(self.model) for _ in range(copies)]
        self._models = [self.model] * copies
        self._controls = [data.ctrl for data in self._data]
        self._counters = [data.warning.number[LOST] for data in self._data]
        self._views: dict[str, list[NDArray[Any]]] = {}
        self._drawer: Any = None

    def scale_friction(self, factors: Sequence[float]) -> None:
        """Multiplies the sliding friction of every geom by a copy's factor (M,), from the next start or step on.

        It applies to every geom, because a contact uses the larger friction of its two geoms: a slippery floor alone
        changes nothing. Raises ConfigError unless each factor is finite and at least 0.
        """
        models: dict[float, mujoco.MjModel] = {}
        for factor in factors:
            if not (math.isfinite(factor) and factor >= 0):
                raise ConfigError(f"A factor of friction is {factor}; it must be a finite number, 0 or larger.")
            if factor not in models:
                models[factor] = copy.copy(self.model)
                models[factor].geom_friction[:, 0] *= factor
        self._models = [models[factor] for factor in factors]

    def start(self, at: int, positions: NDArray[np.float64], velocities: NDArray[np.float64]) -> None:
        """Sets copy `at` to the model's first state plus these positions (Q,) and velocities (V,).

        If MuJoCo raises, its positions become NaN: the observation shows it, and the copy breaks in the next step.
        """
        model, data = self._models[at], self._data[at]
        mujoco.mj_resetData(model, data)
        data.qpos[:] = model.qpos0 + positions
        data.qvel[:] = velocities
        try:
            mujoco.mj_forward(model, data)
        except (mujoco.FatalError, mujoco.UnexpectedError):
            mujoco.mj_resetData(model, data)
            data.qpos[:] = np.nan

    def advance(self, controls: NDArray[Any], times: int, contact_forces: bool) -> list[int]:
        """`times` steps of every copy under its controls (M, U); returns the numbers of the copies that broke.

        A copy breaks if MuJoCo raises, or finds a number that is not finite or huge and resets it to the model's first
        state. The others continue. contact_forces: whether to compute cfrc_ext too, which a step leaves out.
        """
        broke = set()
        step, compute_contact_forces = mujoco.mj_step, mujoco.mj_rnePostConstraint
        for at, (model, data, control) in enumerate(zip(self._models, self._data, self._controls, strict=True)):
            control[:] = controls[at]
            try:
                step(model, data, times)
                if contact_forces:
                    compute_contact_forces(model, data)
            except (mujoco.FatalError, mujoco.UnexpectedError):
                mujoco.mj_resetData(model, data)
                broke.add(at)
        if np.concatenate(self._counters).any():
            broke |= {at for at, counters in enumerate(self._counters) if counters.any()}
        return sorted(broke)

    def reading(self, copies: Sequence[int] | None = None) -> Reading:
        """The present data of these copies; None: all copies."""
        return Reading(self._data, self._views, copies)

    def pictures(self) -> NDArray[np.uint8]:
        """The present state of every copy as RGB, (M, 3, H, W).  Raises ConfigError if EGL cannot be used here."""
        from plasticity_lab.environments.mujoco.drawing import Drawer

        self._drawer = self._drawer or Drawer(self.model)
        return np.stack([self._drawer.picture(data) for data in self._data])

    def state(self) -> NDArray[np.float64]:
        """The complete state that the next steps depend on, (M, ...)."""
        states = np.empty((len(self._data), mujoco.mj_stateSize(self.model, SAVED)))
        for data, state in zip(self._data, states, strict=True):
            mujoco.mj_getState(self.model, data, state, SAVED)
        return states

    def load(self, states: NDArray[np.float64]) -> None:
        """Restores a result of `state`.  Fields that a step computes are invalid until the next step."""
        for model, data, state in zip(self._models, self._data, states, strict=True):
            mujoco.mj_resetData(model, data)  # the counters of warnings too
            mujoco.mj_setState(model, data, state, SAVED)


def _models() -> Path:
    """The folder of Gymnasium's models, found without importing it.  Raises ConfigError if it does not exist."""
    found = importlib.util.find_spec("gymnasium")
    folder = Path(found.origin).parent / "envs/mujoco/assets" if found and found.origin else None
    if folder is None or not folder.is_dir():
        raise ConfigError(
            "Gymnasium cannot be found, and it provides the models of MuJoCo's bodies: pip install 'gymnasium[mujoco]'."
        )
    return folder


def squared(values: NDArray[Any]) -> NDArray[Any]:
    """The sum of squares for each copy, (M, ...) → (M,), in the precision of the values.

    The order of summation equals NumPy's for one copy alone, so the bits do not depend on M.
    """
    return np.square(values).reshape(len(values), -1).sum(axis=1)
