"""Draws in proportion to priorities: which steps have one, how often each is drawn, and what an example counts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.prioritised import BLOCK, Priorities, Prioritised
from plasticity_lab.replay.ring import EmptyMemory, Index, Ring
from tests.helpers.made_up_bodies import EMULATOR
from tests.helpers.replays import drawn_at_random


def test_priorities_are_drawn_as_often_as_their_share():
    """Three blocks, of which one is empty; χ² over the places."""
    places = 2 * BLOCK + 40
    shares = np.zeros(places, np.float32)
    shares[[0, 3, 5, BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 39]] = [1, 2, 0.5, 4, 1.5, 3]
    priorities = Priorities(2, places)
    at = np.flatnonzero(shares)
    priorities.put(np.stack([at, at]), np.stack([shares[at], shares[at][::-1]]))
    drawn = priorities.draw(np.random.default_rng(0).random((2, 6000)))
    for run, own in enumerate((shares[at], shares[at][::-1])):
        found = np.bincount(drawn[run], minlength=places)
        assert found.sum() == found[at].sum()
        assert stats.chisquare(found[at], own / own.sum() * 6000).pvalue > 0.01


def test_draws_are_stratified():
    """Of equal priorities, one out of each of equally large parts."""
    priorities = Priorities(1, 1000)
    priorities.put(np.arange(1000)[None], np.ones((1, 1000), np.float32))
    drawn = priorities.draw(np.random.default_rng(1).random((1, 10)))[0]
    assert (drawn // 100).tolist() == list(range(10))


def test_a_run_draws_the_same_in_any_pack_and_after_loading():
    rng = np.random.default_rng(2)
    values = rng.random((3, 700)).astype(np.float32)
    packed, alone = Priorities(3, 700), Priorities(1, 700)
    for _ in range(20):
        at = rng.integers(700, size=(3, 50))
        put = values[np.arange(3)[:, None], at] * rng.random(dtype=np.float32)
        packed.put(at, put)
        alone.put(at[1:2], put[1:2])
    resumed = Priorities(1, 700)
    resumed.load({name: value[1:2] for name, value in packed.state().items()})
    uniforms = rng.random((3, 64))
    drawn = packed.draw(uniforms)
    assert (alone.draw(uniforms[1:2]) == drawn[1:2]).all()
    assert (resumed.draw(uniforms[1:2]) == drawn[1:2]).all()
    assert packed.total[1] == alone.total[0] == resumed.total[0]


@pytest.mark.parametrize("stack", [1, 3])
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("life_loss", [False, True])
@pytest.mark.parametrize("begins_within", [False, True])
def test_those_with_a_priority_are_those_that_can_be_learned_from(stack, n, life_loss, begins_within):
    """Against the definition, step by step, while the ring comes round three times and is cleared once."""
    ring, n_step = Ring(replace(EMULATOR, stack=stack), 2, 2, 2 * 11), NStep(n, life_loss)
    remembered, rng = Prioritised(ring, n_step), np.random.default_rng(n + stack)
    ends = np.full((2, 2), not begins_within)
    for step in range(45):
        if step == 30:
            ring.clear()
            remembered.clear()
        ends = drawn_at_random(ring, rng, ends)
        remembered.added()
        every = np.arange(max(0, ring.oldest), ring.end)
        index = Index(np.tile(np.repeat(every, 2), (2, 1)), np.tile([0, 1], (2, len(every))))
        usable = n_step.usable(ring, index)
        assert ((remembered._priorities.of(remembered._places(index)) > 0) == usable).all(), step
        assert np.count_nonzero(remembered._priorities.values) == usable.sum()


def test_priorities_follow_losses_and_new_steps_have_the_largest():
    """√(loss + 1e-10); weights 1 / √(priority + 1e-10) over the largest: worked out by hand."""
    ring = Ring(EMULATOR, 1, 1, 8)
    remembered, rng = Prioritised(ring, NStep(1)), np.random.default_rng(0)
    ends = np.ones((1, 1), bool)
    for _ in range(4):
        ends = drawn_at_random(ring, rng, ends, never_ends=True)
        remembered.added()
    at = Index(np.array([[0, 1, 2]]), np.zeros((1, 3), np.int64))
    assert remembered.importance(at).tolist() == [[1, 1, 1]]
    remembered.learned(at, np.array([[4.0, 0.25, 0.0]], np.float32))
    assert remembered._priorities.of(remembered._places(at))[0] == pytest.approx([2, 0.5, 1e-5])
    assert remembered.importance(at)[0] == pytest.approx([(1e-5 / 2) ** 0.5, (1e-5 / 0.5) ** 0.5, 1], rel=1e-4)
    drawn_at_random(ring, rng, ends, never_ends=True)
    remembered.added()
    assert remembered._priorities.of(np.array([[3]]))[0, 0] == 2
    remembered.learned(at, np.array([[np.nan, np.inf, 1.0]], np.float32))
    assert remembered._priorities.of(remembered._places(at))[0].tolist() == [2, 2, 1]


def test_after_small_losses_a_new_step_still_has_the_largest_priority_that_there_was():
    """Schaul et al. 2016, algorithm 1, line 6: the maximum is over all that there were, 1 at first."""
    ring = Ring(EMULATOR, 2, 1, 8)
    remembered, rng = Prioritised(ring, NStep(1)), np.random.default_rng(0)
    ends = np.ones((2, 1), bool)

    def new(losses: list[float] | None) -> list[float]:
        """Learns from the first step, adds a step, and says what the newest that can be learned from has."""
        nonlocal ends
        if losses is not None:
            at = Index(np.zeros((2, 1), np.int64), np.zeros((2, 1), np.int64))
            remembered.learned(at, np.array(losses, np.float32)[:, None])
        ends = drawn_at_random(ring, rng, ends, never_ends=True)
        remembered.added()
        return remembered._priorities.of(np.full((2, 1), ring.end - 2))[:, 0].tolist()

    new(None)
    assert new(None) == [1, 1]
    assert new([0.25, 9.0]) == [1, 3], "of each run by itself"
    assert new([4.0, 0.01]) == [2, 3]
    assert new([0.0, 1e-6]) == [2, 3]


def test_importance_is_by_the_largest_of_the_runs_own_batch():
    """The priorities are 1 and 4 of one run, 16 and 64 of another: in each the rarer step counts 1, the other 1/2."""
    ring = Ring(EMULATOR, 2, 1, 8)
    remembered, rng, ends = Prioritised(ring, NStep(1)), np.random.default_rng(0), np.ones((2, 1), bool)
    for _ in range(3):
        ends = drawn_at_random(ring, rng, ends, never_ends=True)
        remembered.added()
    at = Index(np.array([[0, 1], [0, 1]]), np.zeros((2, 2), np.int64))
    remembered.learned(at, np.array([[1, 16], [16**2, 64**2]], np.float32))
    assert remembered.importance(at) == pytest.approx(np.array([[1, 0.5], [1, 0.5]]))


def test_without_a_step_that_can_be_learned_from_nothing_is_drawn():
    ring = Ring(EMULATOR, 1, 1, 8)
    remembered, ends = Prioritised(ring, NStep(3)), np.ones((1, 1), bool)
    with pytest.raises(EmptyMemory):
        remembered.drawn([0], 4, 0)
    for _ in range(3):
        ends = drawn_at_random(ring, np.random.default_rng(0), ends, never_ends=True)
        remembered.added()
        with pytest.raises(EmptyMemory):
            remembered.drawn([0], 4, 0)
    drawn_at_random(ring, np.random.default_rng(0), ends, never_ends=True)
    remembered.added()
    assert (remembered.drawn([0], 4, 0).step == 0).all()
