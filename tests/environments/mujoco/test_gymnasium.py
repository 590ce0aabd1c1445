"""Every MuJoCo body against Gymnasium's own class of it: the same numbers, bit for bit."""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator

from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.mujoco.simulation import RULES
from plasticity_lab.randomness.host import host_stream


def gymnasiums(body):
    """What Gymnasium has of that body, without wrappers: its entry in the registry, and an environment."""
    entry = gymnasium.spec(body.source.removesuffix("'").rsplit("Gymnasium's ", 1)[1])
    return entry, load_env_creator(entry.entry_point)()


@pytest.fixture(params=sorted(RULES))
def body(request):
    return BODIES[request.param]


def test_the_table_says_what_gymnasium_says(body):
    entry, environment = gymnasiums(body)
    assert entry.id.endswith(f"-{body.version}")
    assert entry.max_episode_steps == body.max_steps
    assert environment.observation_space.shape == body.observation
    assert np.array_equal(environment.action_space.low, np.float32(body.low))
    assert np.array_equal(environment.action_space.high, np.float32(body.high))


@pytest.mark.parametrize("steps", [150, pytest.param(4000, marks=pytest.mark.slow)])
def test_starts_and_steps_are_gymnasiums(body, steps):
    """Two copies, each started anew where it terminates; actions of two types reach beyond their bounds."""
    environments = [gymnasiums(body)[1] for _ in range(2)]
    simulation = body.simulation(2)
    actions = host_stream(0, "actions").normal(0, body.high[0], (steps, 2, body.actions))
    actions[steps // 2] *= 1e12  # MuJoCo drops what is huge; it costs all the same
    over, terminations = np.array([True, True]), 0
    for step in range(steps):
        if over.any():
            at = np.flatnonzero(over)
            shown = simulation.start(at, [host_stream(0, "start", copy, step) for copy in at.tolist()])
            for copy, observation in zip(at.tolist(), shown, strict=True):
                environments[copy].np_random = host_stream(0, "start", copy, step)
                expected, _ = environments[copy].reset()
                assert observation.tobytes() == expected.astype(np.float32).tobytes()
        observations, rewards, over = simulation.step(taken := actions[step].astype([np.float32, np.float64][step % 2]))
        for copy, environment in enumerate(environments):
            observation, reward, terminated, _, _ = environment.step(taken[copy])
            assert observations[copy].tobytes() == observation.astype(np.float32).tobytes()
            assert rewards[copy].tobytes() == np.float64(reward).tobytes()
            assert over[copy] == terminated
        terminations += over.sum()
    assert (terminations > 0) == (not body.name.startswith("halfcheetah"))
