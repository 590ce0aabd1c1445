"""Running statistics: step for step those of Gymnasium's wrappers."""

import numpy as np
import pytest

from plasticity_lab.agents.ppo.normalise import Normaliser
from plasticity_lab.environments.bodies import body_named
from plasticity_lab.environments.environments import Environments

gymnasium = pytest.importorskip("gymnasium")
GAMMA = 0.97


class Replayed(gymnasium.Env):
    """Shows what our own environment has shown."""

    observation_space, action_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,)), gymnasium.spaces.Discrete(2)

    def __init__(self, environments):
        self.environments = environments

    def reset(self, *, seed=None, options=None):
        return self.environments.observations[0, 0], {}

    def step(self, action):
        outcome = self.environments.step(np.array([[action]]))
        ends = bool(outcome.terminated[0, 0]), bool(outcome.truncated[0, 0])
        self.outcome = outcome
        return outcome.last[0, 0], float(outcome.rewards[0, 0]), *ends, {}


def test_they_are_gymnasiums():
    ours = Environments(body_named("cartpole"), [5], 1, 0)
    replayed = Replayed(Environments(body_named("cartpole"), [5], 1, 0))
    theirs = gymnasium.wrappers.NormalizeReward(gymnasium.wrappers.NormalizeObservation(replayed), gamma=GAMMA)
    normaliser = Normaliser(1, 1, (4,))
    normaliser.begin(ours.observations)
    shown, _ = theirs.reset()
    for step in range(200):
        np.testing.assert_allclose(
            normaliser.scaled(ours.observations)[0, 0], shown.clip(-10, 10), rtol=1e-5, atol=1e-5
        )
        action = step // 3 % 2
        outcome = ours.step(np.array([[action]]))
        over = outcome.terminated | outcome.truncated
        normaliser.see(outcome.last, ours.observations, over)
        reward = normaliser.scaled_rewards(outcome.rewards, outcome.terminated, np.array([GAMMA]))
        shown, scaled, *_ = theirs.step(action)
        assert reward[0, 0] == pytest.approx(np.clip(scaled, -10, 10), rel=1e-9)
        if over.any():
            shown, _ = theirs.reset()
    assert ours.state()["episode"][0, 0] > 5


def test_a_runs_statistics_do_not_depend_on_its_mates_and_are_restored():
    draw = np.random.default_rng(0)
    seen = draw.normal(3, 7, (30, 3, 2, 5)).astype(np.float32)
    ended = draw.random((30, 3, 2)) < 0.2

    def after(runs, steps, normaliser=None):
        normaliser = normaliser or Normaliser(len(runs), 2, (5,))
        for at in steps:
            normaliser.see(seen[at, runs], seen[at, runs] + 1, ended[at, runs])
            normaliser.scaled_rewards(seen[at, runs, :, 0], ended[at, runs], np.ones(len(runs)))
        return normaliser

    packed, alone = after([0, 1, 2], range(30)).state(), after([1], range(30)).state()
    assert all(np.array_equal(packed[name][1:2], alone[name]) for name in alone)
    restored = Normaliser(3, 2, (5,))
    restored.load(after([0, 1, 2], range(11)).state())
    assert all(
        np.array_equal(value, packed[name]) for name, value in after([0, 1, 2], range(11, 30), restored).state().items()
    )
