"""Which rules each of Gymnasium's MuJoCo bodies has."""

import math

from plasticity_lab.environments.mujoco.ant import Ant
from plasticity_lab.environments.mujoco.humanoid import Humanoid
from plasticity_lab.environments.mujoco.planar import HalfCheetah, Legged
from plasticity_lab.environments.mujoco.simulation import Rules

_HOPPER = {"file": "hopper.xml", "heights": (0.7, math.inf), "angles": (-0.2, 0.2), "states": 100.0}
_WALKER = {"heights": (0.8, 2.0), "angles": (-1.0, 1.0)}

RULES: dict[str, Rules] = {
    "halfcheetah": HalfCheetah(),
    "hopper": Legged(**_HOPPER),
    "walker2d": Legged("walker2d_v5.xml", **_WALKER),
    "ant": Ant(),
    "humanoid": Humanoid(),
    "halfcheetah_v4": HalfCheetah(),
    "hopper_v4": Legged(**_HOPPER, paid_when_fallen=True),
    "walker2d_v4": Legged("walker2d.xml", **_WALKER, paid_when_fallen=True),
    "ant_v4": Ant(contact_forces=False, paid_when_fallen=True),
    "humanoid_v4": Humanoid(of_v4=True),
}
"""By the body's name."""
