"""Running statistics: step for step those of Gymnasium's wrappers."""

import numpy as np
import pytest

from plasticity_lab.agents.ppo.normalise import Normaliser, RunningMoments
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


def test_in_whatever_portions_numbers_come_they_have_the_mean_and_variance_of_all():
    """With what there is at the beginning: 1e-4 numbers with mean 0 and variance 1. Divided by n, not by n − 1."""
    moments = RunningMoments(2, (2,))
    draw = np.random.default_rng(0)
    parts = [draw.normal(3, 7, (2, size, 2)) for size in (1, 4, 2)]
    for part in parts:
        moments.add(part)
    single = draw.normal(size=2)
    moments.add_one(1, single)
    for k, own in enumerate(
        (np.concatenate(parts, axis=1)[0], np.append(np.concatenate(parts, axis=1)[1], [single], 0))
    ):
        total = len(own) + 1e-4
        mean = own.sum(axis=0) / total
        variance = (np.square(own).sum(axis=0) + 1e-4) / total - mean**2
        np.testing.assert_allclose((moments.mean[k], moments.variance[k]), (mean, variance), rtol=1e-9)
        assert moments.count[k] == pytest.approx(total)
    moments.mean[:], moments.variance[:] = 2.0, 4.0
    scaled = moments.scaled(np.array([[[3.0, -100.0]], [[5.0, 100.0]]]), centre=True)
    np.testing.assert_allclose(scaled, [[[0.5, -10]], [[1.5, 10]]], rtol=1e-8)
    np.testing.assert_allclose(moments.scaled(np.full((2, 1, 2), 3.0), centre=False), 1.5, rtol=1e-8)


def test_a_discounted_sum_begins_anew_where_an_episode_terminates_each_run_with_its_own_discount():
    """Of rewards of 1 with a discount of ½: 1, 1.5, 1.75; where the second step terminates 1, 1, 1.5. With 0.1: 1, 1.1,
    1.11.

    Rewards are divided by the deviation of these sums, the running step's among them, and keep their mean.
    """
    normaliser, ones = Normaliser(2, 2, (1,)), np.ones((2, 2))
    for step in range(3):
        terminated = np.array([[False, step == 1], [False, False]])
        scaled = normaliser.scaled_rewards(ones, terminated, np.array([0.5, 0.1]))
    np.testing.assert_allclose(normaliser.discounted, [[1.75, 1.5], [1.11, 1.11]])
    for k, sums in enumerate(([1, 1, 1.5, 1, 1.75, 1.5], [1, 1, 1.1, 1.1, 1.11, 1.11])):
        total = 6 + 1e-4
        variance = (np.square(sums).sum() + 1e-4) / total - (np.sum(sums) / total) ** 2
        np.testing.assert_allclose(scaled[k], min(10, 1 / np.sqrt(variance + 1e-8)), rtol=1e-9)
    normaliser.begin(np.zeros((2, 2, 1), np.float32))
    assert not normaliser.discounted.any(), "new environments owe nothing to those before"


def test_where_an_episode_ended_both_observations_are_seen():
    """What the step led to, and the first of the next episode; elsewhere they are one and count once."""
    normaliser = Normaliser(2, 2, (1,))
    led_to, shown = np.array([[[1.0], [2]], [[3], [4]]]), np.array([[[1.0], [9]], [[3], [4]]])
    normaliser.see(led_to, shown, np.array([[False, True], [False, False]]))
    np.testing.assert_allclose(normaliser.observations.count, [3 + 1e-4, 2 + 1e-4])
    np.testing.assert_allclose(normaliser.observations.mean[:, 0], [12 / 3.0001, 7 / 2.0001])
