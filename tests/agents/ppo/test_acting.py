"""What an actor sees and earns is what Gymnasium's wrappers make of the same body."""

import numpy as np
import pytest

from launch.bench.plain_ppo import GAMMA, environment
from plasticity_lab.agents.ppo.normalise import Normaliser
from plasticity_lab.agents.ppo.rollout import Actor
from plasticity_lab.agents.ppo.settings import PPOSettings
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.environments import Environments
from tests.helpers.same_beginnings import begun_alike

pytest.importorskip("plasticity_lab.environments.mujoco.simulation")
SEED, STEPS = 7, 600


def answers(shown, count):
    """A policy that moves, so that Hopper falls in many ways; one number for each joint of the body."""
    joints = {11: 3, 17: 6}[shown.shape[-1]]
    policy = np.tanh(shown[..., :joints] * np.float32(0.3))
    return {"policy": policy, "value": shown[..., :1], "log_std": np.full_like(policy, -0.7)}


@pytest.mark.parametrize(("name", "least"), [("hopper", 11), ("halfcheetah", 1)])
def test_observations_rewards_and_episodes_are_those_of_gymnasiums_wrappers(name, least):
    """Hopper's episodes end because it falls, HalfCheetah's at the limit of 1,000 steps."""
    body = BODIES[name]
    actor = Actor(
        Environments(body, [SEED], 1, 0),
        answers,
        PPOSettings(
            rollout=STEPS,
            normalise_observations=True,
            normalise_rewards=True,
            clip_action=True,
            timeout_is_terminal=True,
            minibatches=1,
        ),
        [SEED],
        np.array([GAMMA]),
        Normaliser(1, 1, body.observation),
    )
    actor.begin()
    theirs = begun_alike(environment(body.gymnasium), name, SEED)
    shown, _ = theirs.reset(seed=0)
    ended, episodes = [], []
    for first in (0, STEPS):
        seen = actor.rollout(first)
        episodes += list(seen.episodes.values["return"])
        for t in range(STEPS):
            np.testing.assert_allclose(seen.x[0, t, 0], shown, rtol=1e-4, atol=1e-4)
            shown, reward, terminated, truncated, facts = theirs.step(seen.action[0, t, 0])
            assert seen.rewards[0, t, 0] == pytest.approx(reward, rel=1e-9)
            assert seen.ended[0, t, 0] == (terminated or truncated)
            if seen.ended[0, t, 0]:
                ended.append(facts["episode"]["r"])
                shown, _ = theirs.reset()
    assert len(ended) >= least
    assert episodes == pytest.approx(ended)
