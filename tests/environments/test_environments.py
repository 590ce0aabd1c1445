"""The bookkeeping of episodes, on a body that does what its actions say."""

import dataclasses

import numpy as np
import pytest

from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments
from plasticity_lab.errors import ConfigError, PlasticityError
from plasticity_lab.randomness.host import host_stream


class Obedient:
    """Shows where its episode began and how many steps ago; the reward is the action, and action 9 terminates."""

    def __init__(self, copies):
        self.shown = np.zeros((copies, 2), np.float32)

    def start(self, copies, streams):
        self.shown[copies] = [[stream.random(), 0] for stream in streams]
        return self.shown[copies]

    def step(self, actions):
        self.shown = self.shown + np.array([0, 1], np.float32)
        return self.shown.copy(), actions.astype(np.float64), actions == 9

    def state(self):
        return {"shown": self.shown.copy()}

    def load(self, state):
        self.shown = state["shown"].copy()


BODY = Body("obedient", "v1", (2,), actions=10, max_steps=3, simulation=Obedient, source="here")
SEEDS = (3, 4)


def begun(seed, task, environment, episode, purpose="reset"):
    return np.float32(host_stream(seed, purpose, task, "obedient", environment, episode).random())


def test_an_episode_that_ends_is_followed_by_the_next_in_the_same_step():
    environments = Environments(BODY, SEEDS, 2, task=5)
    environments.step(np.array([[1, 2], [3, 4]]))
    outcome = environments.step(np.array([[1, 9], [3, 9]]))
    assert np.array_equal(outcome.rewards, [[1, 9], [3, 9]])
    assert outcome.rewards.dtype == np.float64
    assert np.array_equal(outcome.terminated, [[False, True], [False, True]])
    assert not outcome.truncated.any()
    assert np.array_equal(outcome.ended.run, [0, 1])
    assert np.array_equal(outcome.ended.returns, [11, 13])
    assert np.array_equal(outcome.ended.lengths, [2, 2])
    assert outcome.last.dtype == environments.observations.dtype == np.float32
    for run, seed in enumerate(SEEDS):
        assert np.array_equal(outcome.last[run], [[begun(seed, 5, 0, 0), 2], [begun(seed, 5, 1, 0), 2]])
        assert np.array_equal(environments.observations[run], [[begun(seed, 5, 0, 0), 2], [begun(seed, 5, 1, 1), 0]])
    ended = environments.step(np.array([[9, 9], [1, 9]])).ended
    assert np.array_equal(ended.run, [0, 0, 1, 1])
    assert np.array_equal(ended.returns, [11, 9, 7, 9])
    assert np.array_equal(ended.lengths, [3, 1, 3, 1])


def test_the_limit_on_steps_truncates_what_does_not_terminate_there():
    environments = Environments(BODY, SEEDS, 1, task=0)
    for _ in range(2):
        assert not len(environments.step(np.array([[1], [1]])).ended.run)
    outcome = environments.step(np.array([[1], [9]]))
    assert np.array_equal(outcome.truncated, [[True], [False]])
    assert np.array_equal(outcome.terminated, [[False], [True]])
    assert np.array_equal(outcome.ended.lengths, [3, 3])
    assert np.array_equal(environments.observations[:, 0, 1], [0, 0])


def test_what_a_step_gave_stays_as_it_was():
    environments = Environments(BODY, SEEDS, 1, task=0)
    shown, state = environments.observations, environments.state()
    outcome = environments.step(np.array([[1], [9]]))
    kept = {name: np.copy(value) for name, value in state.items()}
    before = shown.copy(), outcome.last.copy(), environments.observations.copy()
    again = environments.observations
    for _ in range(4):
        environments.step(np.array([[2], [9]]))
    assert all(map(np.array_equal, (shown, outcome.last, again), before))
    environments.load(state)
    environments.step(np.array([[2], [9]]))
    assert all(np.array_equal(state[name], kept[name]) for name in kept)


def test_evaluations_begin_elsewhere_than_training():
    environments = Environments(BODY, SEEDS, 1, task=0, purpose="evaluation")
    expected = [begun(seed, 0, 0, 0, "evaluation") for seed in SEEDS]
    assert np.array_equal(environments.observations[:, 0, 0], expected)
    assert not np.array_equal(environments.observations, Environments(BODY, SEEDS, 1, task=0).observations)


@pytest.mark.parametrize(
    ("actions", "key"),
    [
        (np.zeros((2, 2), int), r"\(2, 2\)"),
        (np.zeros((2, 1, 1), int), r"\(2, 1, 1\)"),
        (np.zeros((2, 1)), "0 to 9"),
        (np.array([[0], [10]]), "0 to 9"),
        (np.array([[0], [-1]]), "0 to 9"),
    ],
)
def test_actions_that_are_not_the_bodys_are_refused(actions, key):
    environments = Environments(BODY, SEEDS, 1, task=0)
    before = environments.state()
    with pytest.raises(ValueError, match=key):
        environments.step(actions)
    assert all(np.array_equal(value, before[name]) for name, value in environments.state().items())


def test_continuous_actions_reach_the_body_as_they_are():
    class Pulled(Obedient):
        def step(self, actions):
            assert actions.shape == (2, 3)
            return super().step(actions.sum(axis=1))

    body = dataclasses.replace(BODY, actions=3, low=(-1.0,) * 3, high=(1.0,) * 3, simulation=Pulled)
    outcome = Environments(body, SEEDS, 1, task=0).step(np.array([[[0.5, 0.5, 7.0]], [[0.0, -0.5, 0.0]]]))
    assert np.array_equal(outcome.rewards, [[8.0], [-0.5]])


@pytest.mark.parametrize("name", ["length", "simulation.shown"])
def test_a_state_of_other_environments_is_refused(name):
    environments = Environments(BODY, SEEDS, 1, task=0)
    state = environments.state()
    with pytest.raises(ValueError, match=name):
        environments.load({**state, name: state[name][:1]})
    with pytest.raises(ValueError, match=name):
        environments.load({key: value for key, value in state.items() if key != name})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_body_that_shows_something_else_than_its_table_says_is_refused(dtype):
    class Another(Obedient):
        def start(self, copies, streams):
            return super().start(copies, streams).astype(dtype)

    body = dataclasses.replace(BODY, simulation=Another, observation=(2,) if dtype == np.float64 else (3,))
    with pytest.raises(PlasticityError, match=r"obedient v1.*\(2,\)"):
        Environments(body, SEEDS, 1, task=0)


@pytest.mark.parametrize("what", ["reward", "observation"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_body_that_breaks_ends_its_episode_and_no_other(what, value):
    class Fragile(Obedient):
        def step(self, actions):
            observations, rewards, terminated = super().step(actions)
            (rewards if what == "reward" else observations[:, 0])[actions == 8] = value
            return observations, rewards, terminated

    environments = Environments(dataclasses.replace(BODY, simulation=Fragile), SEEDS, 1, task=0)
    environments.step(np.array([[1], [1]]))
    outcome = environments.step(np.array([[8], [2]]))
    assert np.array_equal(outcome.broken, [[True], [False]])
    assert np.array_equal(outcome.terminated, [[True], [False]])
    assert np.array_equal(outcome.rewards, [[np.nan], [2.0]], equal_nan=True)
    assert np.array_equal(outcome.ended.returns, [np.nan], equal_nan=True)
    assert np.array_equal(environments.observations[:, 0], [[begun(3, 0, 0, 1), 0], [begun(4, 0, 0, 0), 2]])
    outcome = environments.step(np.array([[1], [9]]))
    assert not outcome.broken.any()
    assert np.array_equal(outcome.ended.returns, [12.0])


def test_friction_is_refused_where_there_is_none():
    with pytest.raises(ConfigError, match=r"obedient.*friction"):
        Environments(BODY, SEEDS, 1, task=0, friction=0.5)
