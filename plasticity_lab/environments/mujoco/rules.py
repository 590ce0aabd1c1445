"""Which rules each of Gymnasium's MuJoCo bodies has."""

import math
from dataclasses import replace

from plasticity_lab.environments.mujoco.ant import Ant
from plasticity_lab.environments.mujoco.humanoid import Humanoid
from plasticity_lab.environments.mujoco.planar import HalfCheetah, Legged
from plasticity_lab.environments.mujoco.simulation import Rules

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
"""By the body's name."""
