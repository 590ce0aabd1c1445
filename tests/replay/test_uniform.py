"""Draws: any usable step as likely as any other, by keys alone, and none from an empty memory."""

from dataclasses import replace

import numpy as np
import pytest

from plasticity_lab.environments.environments import Environments
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.ring import EmptyMemory, Ring
from plasticity_lab.replay.uniform import drawn, sample
from tests.helpers.made_up_bodies import EMULATOR
from tests.helpers.replays import acted, at, fill

SEEDS = (5, 3, 4)
GAMMA = np.array([0.9, 0.99, 0.5])


def filled(seeds, steps=90, capacity=80, count=2):
    ring = Ring(EMULATOR, len(seeds), count, capacity)
    shown = acted(ring, Environments(EMULATOR, seeds, count, 0), seeds, steps)
    return ring, shown


def in_bytes(batch, run):
    parts = (batch.observations, batch.actions, batch.returns, batch.discount, batch.following, *batch.index)
    return [part[run].tobytes() for part in parts]


@pytest.mark.parametrize("n", [1, 3, 10])
def test_a_run_draws_the_same_alone_and_in_any_pack_and_what_it_draws_is_what_was_shown(n):
    ring, shown = filled(SEEDS)
    batch = sample(ring, NStep(n), SEEDS, 32, GAMMA, 7)
    assert len({tuple(in_bytes(batch, run)) for run in range(3)}) == 3
    for run, seed in enumerate(SEEDS):
        alone = sample(filled((seed,))[0], NStep(n), (seed,), 32, GAMMA[run : run + 1], 7)
        assert in_bytes(alone, 0) == in_bytes(batch, run)
        for place in range(32):
            step, environment = (part[run, place] for part in batch.index)
            assert np.array_equal(batch.observations[run, place], shown[step][run, environment])
            if batch.discount[run, place]:
                assert np.array_equal(batch.following[run, place], shown[step + n][run, environment])
    assert batch.observations.dtype == np.uint8
    assert NStep(n).usable(ring, batch.index).all()


def test_a_batch_is_a_function_of_seed_purpose_and_position_and_of_nothing_drawn_before():
    ring, _ = filled(SEEDS)
    first, second = (drawn(ring, NStep(3), SEEDS, 16, position) for position in (0, 1))
    again = drawn(ring, NStep(3), SEEDS, 16, 0)
    assert np.array_equal(first.step, again.step)
    assert not np.array_equal(first.step, second.step)
    other = drawn(ring, NStep(3), SEEDS, 16, 0, purpose="another")
    assert not np.array_equal(first.step, other.step)


def test_every_usable_step_is_as_likely_as_any_other_and_no_other_comes():
    ring, _ = filled((5,), steps=40, capacity=40)
    n_step, there = NStep(3), np.arange(ring.oldest, ring.end)
    usable = np.stack([n_step.usable(ring, at([there], environment))[0] for environment in range(2)])
    index = drawn(ring, n_step, (5,), 20_000, 0)
    counts = np.zeros((2, len(there)))
    np.add.at(counts, (index.environment[0], index.step[0] - ring.oldest), 1)
    assert (counts[~usable] == 0).all()
    expected = 20_000 / usable.sum()
    chi_squared = ((counts[usable] - expected) ** 2 / expected).sum()
    degrees = usable.sum() - 1
    assert abs(chi_squared - degrees) < 5 * np.sqrt(2 * degrees)


def test_few_usable_steps_among_many_are_found_and_drawn_evenly():
    body = replace(EMULATOR, observation=(1, 2, 3), stack=1)
    ring = Ring(body, 1, 1, 2000)
    fill(ring, range(2000), first=[*range(0, 1990), 1999], truncated=[*range(1000)], terminated=[1995], rewards={})
    # Of 2,000 steps these alone reach three steps on, or a terminal.
    index = drawn(ring, NStep(3), (0,), 600, 0)
    usable = [step for step in range(2000) if NStep(3).usable(ring, at([[step]])).all()]
    assert 0 < len(usable) < 10
    assert sorted({*index.step[0].tolist()}) == usable
    counts = [int((index.step == step).sum()) for step in usable]
    assert min(counts) > 600 / len(usable) * 0.6


def test_an_empty_memory_is_said_and_nothing_is_drawn_from_zeros():
    ring = Ring(EMULATOR, 1, 1, 50)
    with pytest.raises(EmptyMemory):
        drawn(ring, NStep(1), (0,), 4, 0)
    fill(ring, range(3), first=[0])
    with pytest.raises(EmptyMemory):
        drawn(ring, NStep(3), (0,), 4, 0)  # none of them reaches three steps on
    fill(ring, [3])
    assert drawn(ring, NStep(3), (0,), 4, 0).step.tolist() == [[0, 0, 0, 0]]
    gone = Ring(EMULATOR, 1, 1, 50)
    gone.load(ring.state(), {})
    with pytest.raises(EmptyMemory):
        drawn(gone, NStep(3), (0,), 4, 0)


def test_a_run_without_a_usable_step_is_said_though_its_mates_have_some():
    ring, _ = filled(SEEDS, steps=8)
    ring.arrays["truncated"][:, 1] = True
    ring.arrays["terminated"][:, 1] = False
    with pytest.raises(EmptyMemory):
        drawn(ring, NStep(1), SEEDS, 4, 0)
