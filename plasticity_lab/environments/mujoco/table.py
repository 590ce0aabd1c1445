"""Gymnasium's MuJoCo bodies, before anything is built: this file imports neither of the two."""

from functools import partial

from plasticity_lab.environments.body import Body, Simulation
from plasticity_lab.errors import ConfigError


def _built(name: str, copies: int) -> Simulation:
    """Copies of the body of that name.

    Raises ConfigError if MuJoCo cannot be imported, and PlasticityError if its model differs from the table.
    """
    try:
        import mujoco  # noqa: F401
    except (ImportError, OSError) as error:
        raise ConfigError(
            f"The body {name} needs MuJoCo, which cannot be imported here ({error}): pip install 'gymnasium[mujoco]', "
            "or choose a body that needs none, such as cartpole."
        ) from error
    from plasticity_lab.environments.mujoco.simulation import RULES, MuJoCoBody

    (body,) = (body for body in MUJOCO_BODIES if body.name == name)
    simulation = MuJoCoBody(RULES[name], copies)
    simulation.check(name, *body.bounds)
    return simulation


def _row(name: str, called: str, observation: int, actions: int, bound: float = 1.0) -> Body:
    version = called.rsplit("-", 1)[1]
    return Body(
        name=name,
        version=version,
        observation=(observation,),
        actions=actions,
        max_steps=1000,
        simulation=partial(_built, name),
        source=f"Todorov, Erez & Tassa 2012, as Gymnasium's {called}",
        gymnasium=called,
        low=(-bound,) * actions,
        high=(bound,) * actions,
        has_friction=True,
        is_drawn=True,
        packages=("mujoco", "gymnasium"),
    )


MUJOCO_BODIES = (
    _row("halfcheetah", "HalfCheetah-v5", 17, 6),
    _row("hopper", "Hopper-v5", 11, 3),
    _row("walker2d", "Walker2d-v5", 17, 6),
    _row("ant", "Ant-v5", 105, 8),
    _row("humanoid", "Humanoid-v5", 348, 17, 0.4),
    _row("halfcheetah_v4", "HalfCheetah-v4", 17, 6),
    _row("hopper_v4", "Hopper-v4", 11, 3),
    _row("walker2d_v4", "Walker2d-v4", 17, 6),
    _row("ant_v4", "Ant-v4", 27, 8),
    _row("humanoid_v4", "Humanoid-v4", 376, 17, 0.4),
)
"""Returns under v4 and v5 cannot be compared, except for HalfCheetah: its rules are the same."""
