"""Acting ε-greedily, and what is remembered of it."""

import itertools

import numpy as np
import pytest

from plasticity_lab.agents.value.acting import BLOCK, epsilon_greedy, exploring
from tests.agents.ppo.packs import there_are
from tests.agents.value.packs import CHOSEN, SMALL, advanced, begun
from tests.tenants.packs import packs_of


def test_an_action_is_random_where_its_number_is_below_epsilon_else_the_first_of_the_best():
    q = np.array([[[1.0, 2.0, 2.0], [5.0, 0.0, 1.0]], [[0.0, 0.0, 1.0], [0.0, 3.0, 1.0]]])
    chance, action = np.array([[0.1, 0.9], [0.1, 0.9]]), np.array([[2, 2], [0, 0]])
    assert epsilon_greedy(q, np.array([0.5, 0.0]), chance, action).tolist() == [[2, 0], [2, 1]]
    assert epsilon_greedy(q, np.array([1.0, 1.0]), chance, action).tolist() == action.tolist()


def test_draws_are_a_function_of_seed_purpose_and_step():
    pack, alone = exploring([3, 5], 2, 4, "acting"), exploring([5], 2, 4, "acting")
    there = [step for step in (0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 5, 2)]
    for step in there:
        (chance, action), (own_chance, own_action) = pack.at(step), alone.at(step)
        assert np.array_equal(chance[1:], own_chance)
        assert np.array_equal(action[1:], own_action)
    seen = {tuple(pack.at(step)[0].ravel()) for step in range(3 * BLOCK)}
    assert len(seen) == 3 * BLOCK
    others = (exploring([3, 5], 2, 4, "other"), exploring([3, 5], 2, 4, "acting", 1))
    assert all(not np.array_equal(pack.at(7)[0], other.at(7)[0]) for other in others)
    actions = np.array([pack.at(step)[1] for step in range(10 * BLOCK)])
    assert np.bincount(actions.ravel()).tolist() == pytest.approx([640] * 4, abs=90)


def test_what_is_remembered_is_what_was_shown_done_and_earned(monkeypatch):
    """A run's own environment is acted in again, by the actions in the ring."""
    learner, chunks = begun(packs_of(*SMALL, "seed=0,1", "agent.capacity=400"))
    advanced(learner, chunks)
    ring = learner.memory.ring
    again, _ = begun(packs_of(*SMALL, "seed=0,1", "agent.capacity=400"))
    environments = again.environments
    for step in range(ring.end):
        assert np.array_equal(environments.observations, ring.arrays["frame"][step])
        assert np.array_equal(environments.first, ring.arrays["first"][step])
        outcome = environments.step(ring.arrays["action"][step])
        assert np.array_equal(outcome.rewards, ring.arrays["reward"][step])
        assert np.array_equal(outcome.terminated, ring.arrays["terminated"][step])
    assert ring.end == 300
    assert ring.arrays["terminated"][:300].sum() == 2 * (300 // 18)


@pytest.mark.parametrize("clips", ["true", "false"])
def test_rewards_are_clipped_in_the_memory_alone(clips, monkeypatch):
    there_are(monkeypatch)
    learner, chunks = begun(packs_of(*CHOSEN, f"agent.clip_rewards={clips}", "benchmark.environment_steps=90"))
    learner.environments._simulation.step = _ten_times(learner.environments._simulation.step)
    (rows,) = advanced(learner, chunks)
    kept = np.abs(learner.memory.ring.arrays["reward"][: learner.memory.ring.end])
    assert kept.max() == 1.0 if clips == "true" else kept.max() > 5
    assert np.abs(rows.episodes.values["return"]).max() > 15


@pytest.mark.parametrize(("clips", "kept"), [("true", [-1, -0.25, 0, 0.5, 1, 1]), ("false", [-3, -0.25, 0, 0.5, 1, 7])])
def test_a_clipped_reward_between_the_bounds_is_as_it_was(clips, kept, monkeypatch):
    there_are(monkeypatch)
    learner, chunks = begun(packs_of(*CHOSEN, f"agent.clip_rewards={clips}", "benchmark.environment_steps=60"))
    earned, step = itertools.cycle([-3, -0.25, 0, 0.5, 1, 7]), learner.environments._simulation.step

    def stepped(actions):
        shown, rewards, terminated = step(actions)
        return shown, np.full_like(rewards, next(earned)), terminated

    learner.environments._simulation.step = stepped
    advanced(learner, chunks)
    assert learner.memory.ring.arrays["reward"][:60, 0, 0].tolist() == kept * 10


def _ten_times(step):
    def stepped(actions):
        shown, rewards, terminated = step(actions)
        return shown, 10 * rewards, terminated

    return stepped
