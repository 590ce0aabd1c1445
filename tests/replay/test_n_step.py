"""Returns of n steps on episodes made by hand: a terminal, a truncation, a lost life, an episode broken off, the head.

One run, one environment. The reward of step t is 2^t, so that every sum says of which steps it is; γ = 1/2 makes each
term of a sum from step t on 2^t, and so the sum of j steps is j · 2^t.
"""

from dataclasses import replace

import numpy as np
import pytest

from plasticity_lab.environments.environments import Environments
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.ring import Ring
from tests.helpers.made_up_bodies import CHOSEN, EMULATOR
from tests.helpers.replays import acted, at, fill

HALF = np.array([0.5])
BODY = replace(EMULATOR, observation=(1, 2, 3), stack=1)
POWERS = {step: 2.0**step for step in range(30)}
N = pytest.mark.parametrize("n", [1, 3, 10])


def ring_of(steps=14, capacity=30, **flags):
    ring = Ring(BODY, 1, 1, capacity)
    fill(ring, range(steps), rewards=POWERS, **{"first": [0], **flags})
    return ring


def usable(ring, n, steps, **more):
    there = NStep(n, **more).usable(ring, at([list(steps)]))[0]
    return [step for step, one in zip(steps, there, strict=True) if one]


def found(ring, n, step, **more):
    """(how many steps the sum is of, discount, the step whose value is added or None)."""
    n_step = NStep(n, **more)
    returns = n_step.of(ring, at([[step]]), HALF)
    discount = float(returns.discount[0, 0])
    terms = float(returns.returns[0, 0]) / 2.0**step
    assert returns.returns.dtype == returns.discount.dtype == np.float32
    return terms, discount, int(returns.following.step[0, 0]) if discount else None


@N
def test_within_an_episode_n_rewards_are_summed_and_the_value_n_steps_later_is_added(n):
    ring = ring_of()
    assert usable(ring, n, range(14)) == list(range(14 - n))  # the state after the last step is not in the ring
    for step in range(14 - n):
        assert found(ring, n, step) == (n, 0.5**n, step + n)


@N
def test_a_terminal_ends_the_sum_with_its_own_reward_and_nothing_is_added(n):
    ring = ring_of(terminated=[6], first=[0, 7])
    assert usable(ring, n, range(14)) == [*range(7), *range(7, 14 - n)]
    for step in range(7):
        ends = step + n > 6
        expected = (7 - step, 0.0, None) if ends else (n, 0.5**n, step + n)
        assert found(ring, n, step) == expected
    for step in range(7, 14 - n):
        assert found(ring, n, step) == (n, 0.5**n, step + n)


def test_a_terminal_at_the_head_is_usable_though_no_step_follows():
    ring = ring_of(steps=7, terminated=[6])
    assert usable(ring, 10, range(8)) == list(range(7))
    assert found(ring, 10, 6) == (1, 0.0, None)


@N
@pytest.mark.parametrize("first", [[0, 7], [0]], ids=["and the next step begins", "the flag alone"])
def test_no_value_is_taken_across_a_truncation(n, first):
    ring = ring_of(truncated=[6], first=first)
    assert usable(ring, n, range(14)) == [*range(7 - n), *range(7, 14 - n)]
    for step in range(7 - n):
        assert found(ring, n, step) == (n, 0.5**n, step + n)


@N
def test_no_value_is_taken_across_a_row_that_begins_anew_where_no_flag_says_why(n):
    ring = ring_of(first=[0, 7])  # as where another task begins in the middle of an episode
    assert usable(ring, n, range(14)) == [*range(7 - n), *range(7, 14 - n)]


@N
def test_a_terminal_before_a_truncation_counts_first(n):
    ring = ring_of(terminated=[4], truncated=[8], first=[0, 5, 9])
    assert [step for step in usable(ring, n, range(9)) if step < 5] == list(range(5))
    assert [step for step in usable(ring, n, range(9)) if step >= 5] == [*range(5, 9 - n)]


@N
def test_a_lost_life_is_terminal_if_the_agent_says_so_and_the_episode_goes_on(n):
    ring = ring_of(life_lost=[6])
    assert usable(ring, n, range(14)) == list(range(14 - n))
    for step in range(14 - n):
        assert found(ring, n, step) == (n, 0.5**n, step + n)
    asked = {"life_loss_is_terminal": True}
    assert usable(ring, n, range(14), **asked) == sorted({*range(7), *range(14 - n)})
    for step in range(7):
        expected = (7 - step, 0.0, None) if step + n > 6 else (n, 0.5**n, step + n)
        assert found(ring, n, step, **asked) == expected
    for step in range(7, 14 - n):
        assert found(ring, n, step, **asked) == (n, 0.5**n, step + n)


@N
def test_a_window_across_the_write_head_is_not_usable(n):
    ring = ring_of(steps=25, capacity=12)
    assert (ring.oldest, ring.end) == (13, 25)
    assert usable(ring, n, range(-2, 30)) == list(range(13, 25 - n))
    for step in range(13, 25 - n):
        assert found(ring, n, step) == (n, 0.5**n, step + n)


def test_one_overwritten_step_takes_with_it_the_observations_that_need_its_frame():
    ring = Ring(EMULATOR, 1, 1, 12)
    fill(ring, range(12), first=[0])
    assert usable(ring, 3, range(13)) == list(range(9))
    fill(ring, [12])
    assert usable(ring, 3, range(14)) == list(range(3, 10))  # three frames each: 0 is gone, so 1 and 2 are not whole


def test_a_window_longer_than_the_ring_is_never_usable_but_where_an_episode_ends():
    ring = ring_of(steps=25, capacity=10)
    assert usable(ring, 10, range(30)) == []
    ring = ring_of(steps=25, capacity=10, terminated=[19], first=[0, 20])
    assert usable(ring, 10, range(30)) == list(range(15, 20))


def test_gamma_is_each_runs_own():
    environments = Environments(CHOSEN, (0, 1, 2), 2, 0)
    ring = Ring(CHOSEN, 3, 2, 200)
    acted(ring, environments, (0, 1, 2), 100)
    index, gamma = at([[3], [3], [3]], 1), np.array([0.0, 0.5, 1.0])
    rewards = ring.arrays["reward"][3:6, :, 1].astype(float)
    returns = NStep(3).of(ring, index, gamma)
    assert returns.returns[:, 0] == pytest.approx([rewards[:, k] @ gamma[k] ** np.arange(3) for k in range(3)])
    assert returns.discount[:, 0].tolist() == [0.0, 0.125, 1.0]
    alone = NStep(3).of(ring, at([[3], [3], [3]], 1), gamma[[1, 1, 1]])
    assert alone.returns[1].tobytes() == returns.returns[1].tobytes()
