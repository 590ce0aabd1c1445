"""Gymnasium's environments whose episodes begin where ours do."""

from typing import Any

import gymnasium
import pytest

from plasticity_lab.randomness.host import host_stream


def begun_alike(theirs: gymnasium.Env[Any, Any], name: str, seed: int) -> gymnasium.Env[Any, Any]:
    """The environment, changed so.  name: of our body. seed: of the run's stream; its first task is meant."""
    rules = pytest.importorskip("plasticity_lab.environments.mujoco.simulation")
    body, episode = theirs.unwrapped, iter(range(10_000))

    def reset_model() -> Any:
        draw = host_stream(seed, "reset", 0, name, 0, next(episode))
        positions, velocities = rules.RULES[name].noise(draw, body.model.nq, body.model.nv)
        body.set_state(body.init_qpos + positions, body.init_qvel + velocities)
        return body._get_obs()

    body.reset_model = reset_model
    return theirs
