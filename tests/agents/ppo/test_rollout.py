"""What a rollout holds, against the same actions taken once more in equal environments."""

from dataclasses import replace

import numpy as np
import pytest

from plasticity_lab.agents.ppo.normalise import Normaliser
from plasticity_lab.agents.ppo.rollout import Actor
from plasticity_lab.agents.ppo.settings import PPOSettings
from plasticity_lab.environments.environments import Environments
from plasticity_lab.randomness.host import host_stream
from tests.helpers.made_up_bodies import CHOSEN, SLIDERS, Sliders

SEEDS, N, T = [5, 6], 3, 40
GAMMA = np.array([0.9, 0.5])
LOG_STD = np.float32(np.log(0.5))


def value_of(shown):
    return shown.sum(axis=-1, dtype=np.float32)


class FixedOutputs:
    """A linear policy, and a value that is the sum of what is shown; it remembers what it was asked, and when."""

    def __init__(self, body):
        self.body, self.asked = body, []

    def __call__(self, x, count):
        self.asked.append((count, x))
        outputs = {"policy": -x[..., : self.body.actions], "value": value_of(x)[..., None]}
        return outputs if self.body.discrete else outputs | {"log_std": np.full_like(outputs["policy"], LOG_STD)}


def acted(body=SLIDERS, first=0, rollouts=1, **how):
    """The last of several rollouts, the actor, and its answers."""
    agent = PPOSettings(environments=N, rollout=T, minibatches=1, **how)
    environments, answers = Environments(body, SEEDS, N, 0), FixedOutputs(body)
    normaliser = Normaliser(2, N, body.observation)
    actor = Actor(environments, answers, agent, SEEDS, GAMMA, normaliser)
    actor.begin()
    for number in range(rollouts):
        answers.asked.clear()
        seen = actor.rollout(first + number * T * N)
    return seen, actor, answers


def once_more(seen, body=SLIDERS, bounds=None):
    """What equal environments show, pay and end with under the rollout's actions."""
    environments, outcomes, shown = Environments(body, SEEDS, N, 0), [], []
    for t in range(T):
        shown.append(environments.observations.copy())
        action = seen.action[:, t]
        outcomes.append(environments.step(action if bounds is None else action.clip(*bounds)))
    return shown, outcomes


@pytest.mark.parametrize("timeout_is_terminal", [False, True])
def test_what_follows_a_step_is_the_value_of_what_it_led_to(timeout_is_terminal):
    """Of a truncated episode too, whose last observation nobody acts on, and of the rollout's last step."""
    seen, _, _ = acted(timeout_is_terminal=timeout_is_terminal)
    shown, outcomes = once_more(seen)
    assert sum(outcome.truncated.sum() for outcome in outcomes) > 0
    assert sum(outcome.terminated.sum() for outcome in outcomes) > 0
    for t, outcome in enumerate(outcomes):
        np.testing.assert_array_equal(seen.x[:, t], shown[t])
        np.testing.assert_array_equal(seen.rewards[:, t], outcome.rewards)
        over = outcome.terminated | outcome.truncated
        np.testing.assert_array_equal(seen.ended[:, t], over)
        nothing_follows = over if timeout_is_terminal else outcome.terminated
        np.testing.assert_array_equal(seen.terminated[:, t], nothing_follows)
        counts = ~nothing_follows
        np.testing.assert_allclose(seen.following[:, t][counts], value_of(outcome.last)[counts], rtol=1e-6)
        np.testing.assert_array_equal(seen.outputs["value"][:, t, :, 0], value_of(shown[t]))


def test_episodes_that_ended_are_named_with_the_runs_own_step():
    """A step of a run is one of one of its environments: three environments take three steps at a time."""
    seen, _, _ = acted(first=600)
    _, outcomes = once_more(seen)
    expected = [
        (run, 600 + (t + 1) * N, total, length)
        for t, outcome in enumerate(outcomes)
        for run, total, length in zip(outcome.ended.run, outcome.ended.returns, outcome.ended.lengths, strict=True)
    ]
    episodes = seen.episodes
    found = zip(episodes.run, episodes.step, episodes.values["return"], episodes.values["length"], strict=True)
    assert list(found) == expected
    assert len({run for run, *_ in expected}) == 2


def test_an_action_is_the_mean_and_a_deviation_times_a_normal_number_of_its_run_and_step():
    seen, _, _ = acted(first=600)
    for k, seed in enumerate(SEEDS):
        normal = host_stream(seed, "acting", 600).standard_normal((T, N, 2), np.float32)
        np.testing.assert_allclose(seen.action[k], seen.outputs["policy"][k] + 0.5 * normal, rtol=1e-5, atol=1e-6)


def test_a_choice_has_the_probabilities_of_a_softmax():
    """By Gumbel numbers: the action with the largest sum. 240 choices; 4 standard deviations of their shares."""
    body = CHOSEN
    seen, _, _ = acted(body)
    gumbel = np.stack([host_stream(seed, "acting", 0).gumbel(size=(T, N, 3)) for seed in SEEDS])
    np.testing.assert_array_equal(seen.action, (seen.outputs["policy"] + gumbel).argmax(axis=3))
    odds = np.exp(seen.outputs["policy"].astype(float))
    shares = (odds / odds.sum(axis=3, keepdims=True)).reshape(-1, 3)
    found, off = np.eye(3)[seen.action.ravel()].sum(axis=0), np.sqrt((shares * (1 - shares)).sum(axis=0))
    assert (np.abs(found - shares.sum(axis=0)) < 4 * off).all()


def test_actions_are_held_within_the_bodys_bounds_and_learned_from_as_they_were_drawn():
    seen, _, _ = acted(clip_action=True)
    assert np.abs(seen.action).max() > 1
    shown, outcomes = once_more(seen, bounds=(-1, 1))
    np.testing.assert_array_equal(seen.x[:, -1], shown[-1])
    np.testing.assert_array_equal(seen.rewards[:, -1], outcomes[-1].rewards)


def test_the_network_is_asked_at_even_numbers_and_behind_a_truncation_at_the_odd_one():
    """Numbers of a randomised activation are drawn by them: none is asked twice."""
    seen, _, answers = acted(first=600)
    _, outcomes = once_more(seen)
    cut = [t for t, outcome in enumerate(outcomes) if outcome.truncated.any()]
    expected = sorted([2 * (600 + t) for t in range(T + 1)] + [2 * (600 + t) + 1 for t in cut])
    assert [count for count, _ in answers.asked] == expected


def test_an_unstable_rollout_is_told_of_its_own_run_and_forgotten_by_the_next():
    seen, actor, _ = acted()
    assert seen.finite.tolist() == [True, True]
    actor.environments._observations = actor.environments._observations.copy()
    actor.environments._observations[N] = np.inf  # the second run's first environment
    seen = actor.rollout(T * N)
    assert seen.finite.tolist() == [True, False]
    assert np.isfinite(seen.x).all()
    assert actor.rollout(2 * T * N).finite.tolist() == [True, True]


class Unpaid(Sliders):
    """Sliders that show what they should, but whose last copy's reward is no number."""

    def step(self, actions):
        shown, rewards, terminated = super().step(actions)
        rewards[-1] = np.nan
        return shown, rewards, terminated


def test_a_reward_that_is_no_number_makes_its_run_unstable():
    seen, _, _ = acted(replace(SLIDERS, simulation=lambda copies: Unpaid(copies, 6, 2)))
    assert seen.finite.tolist() == [True, False]


def test_rewards_and_observations_are_scaled_by_all_that_was_seen_so_far():
    """Seen is what environments show first, what each step leads to, and what is shown instead where an episode ended;
    and discounted sums of rewards, which go on behind a truncation. 1e-4 numbers with variance 1 are there before.
    """
    seen, _, _ = acted(normalise_observations=True, normalise_rewards=True)
    shown, outcomes = once_more(seen)
    assert any(outcome.truncated.any() for outcome in outcomes)
    for k in range(len(SEEDS)):
        observations, sums, running = list(shown[0][k].astype(float)), [], np.zeros(N)
        for t, outcome in enumerate(outcomes):
            mean, deviation = scale_of(observations)
            np.testing.assert_allclose(seen.x[k, t], (shown[t][k] - mean) / deviation, rtol=1e-4, atol=1e-4)
            running = np.where(outcome.terminated[k], 0, GAMMA[k] * running) + outcome.rewards[k]
            sums += list(running)
            expected = outcome.rewards[k] / scale_of(sums)[1]
            np.testing.assert_allclose(seen.rewards[k, t], expected.clip(-10, 10), rtol=1e-6)
            observations += list(outcome.last[k].astype(float))
            if t + 1 < T:
                over = (outcome.terminated | outcome.truncated)[k]
                observations += list(shown[t + 1][k][over].astype(float))


def scale_of(numbers):
    """Mean and deviation of all of them together with 1e-4 numbers of mean 0 and variance 1."""
    count = len(numbers) + 1e-4
    mean = np.sum(numbers, axis=0) / count
    return mean, np.sqrt((np.square(numbers).sum(axis=0) + 1e-4) / count - mean**2 + 1e-8)
