"""Priorities, draws, returns and observations against plain Python, by NumPy and by our kernel: drawn cases."""

from dataclasses import replace

import numpy as np
import pytest

from plasticity_lab.kernels import replay as kernel
from plasticity_lab.randomness.host import host_stream, stream_key
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.prioritised import BLOCK, Priorities, Prioritised
from plasticity_lab.replay.ring import EmptyMemory, Index, Ring
from plasticity_lab.replay.uniform import TRIES, batch_of, drawn
from tests.helpers.made_up_bodies import EMULATOR
from tests.helpers.plain_replay import Kept, PlainMemory
from tests.helpers.replays import drawn_at_random

CASES, SIZE, GAMMA = 200, 6, np.array([0.9, 0.5])
"""Cases of each way."""


@pytest.fixture(params=["numpy", "kernel"])
def way(request, monkeypatch):
    """Whether arrays go through NumPy or through our kernel."""
    if request.param == "kernel":
        kernel.expect()
    monkeypatch.setattr(kernel, "is_used", lambda: request.param == "kernel")


def test_a_memory_is_as_its_definition_says(way):
    for case in range(CASES):
        rng = np.random.default_rng(case)
        runs, environments, n = 2, int(rng.integers(1, 3)), int(rng.integers(1, 4))
        stack, rows, life_loss = int(rng.choice([1, 3])), int(rng.integers(8, 20)), bool(rng.integers(2))
        if case % 100 == 0:
            rows = BLOCK  # of several blocks, where there are two environments
        ring = Ring(replace(EMULATOR, stack=stack), runs, environments, rows * environments, packs=bool(case % 2))
        n_step = NStep(n, life_loss)
        memory = Prioritised(ring, n_step)
        plain = [PlainMemory(rows, environments, n, stack, life_loss) for _ in range(runs)]
        first = np.ones((runs, environments), bool)
        for step in range(rows + int(rng.integers(1, 24))):
            flags = rng.random((3, runs, environments)) < 0.15
            flags[1] &= ~flags[0]
            rewards = rng.normal(size=first.shape).astype(np.float32)
            frames = rng.integers(1, 256, first.shape)
            shown = np.broadcast_to(frames[..., None, None, None], (*first.shape, *ring.body.frame)).astype(np.uint8)
            ring.add(shown, np.zeros(first.shape, int), rewards, *flags, first)
            memory.added()
            for run, own in enumerate(plain):
                values = [(frames, rewards, *flags, first)[i][run].tolist() for i in range(6)]
                own.add([Kept(*of_one) for of_one in zip(*values, strict=True)])
            first = flags[0] | flags[1] | (rng.random(first.shape) < 0.05)
            if step > 3 * n + stack and step % (13 if rows < BLOCK else 67) == 0 and memory._priorities.total.all():
                _compare(memory, plain, step, rng)


def _compare(memory, plain, update, rng):
    """A draw, its batch, and new priorities."""
    seeds = [3, 4]
    index = memory.drawn(seeds, SIZE, update)
    batch = batch_of(memory.ring, memory.n_step, index, GAMMA)
    losses = rng.exponential(size=(2, SIZE)).astype(np.float32)
    for run, own in enumerate(plain):
        at = list(zip(index.step[run].tolist(), index.environment[run].tolist(), strict=True))
        for found, near in zip(at, own.may_be_drawn(seeds[run], SIZE, update), strict=True):
            assert found in near
        for b, (t, environment) in enumerate(at):
            total, factor, then = own.learned_from(t, environment, GAMMA[run])
            assert batch.returns[run, b] == np.float32(total)
            assert batch.discount[run, b] == np.float32(factor)
            for shown, step in ((batch.observations, t), (batch.following, then)):
                frames = shown[run, b].reshape(own.stack, -1)
                assert (frames == np.array(own.frames(step, environment))[:, None]).all()
        own.learn(at, losses[run].tolist())
    memory.learned(index, losses)


def test_both_ways_have_the_same_bits(monkeypatch):
    """Priorities of many sizes, in several blocks, of which some are empty."""
    kernel.expect()
    for case in range(30):
        rng = np.random.default_rng(case)
        runs, places, size = (int(rng.integers(1, most)) for most in (6, 4 * BLOCK, 50))
        found = []
        for is_used in (False, True):
            monkeypatch.setattr(kernel, "is_used", lambda used=is_used: used)
            draw, both = np.random.default_rng(case), []
            priorities = Priorities(runs, places)
            for update in range(6):
                at = draw.integers(places, size=(runs, size))
                priorities.put(at, (draw.exponential(size=at.shape) * 10.0 ** draw.integers(-8, 8)).astype(np.float32))
                both += [priorities.drawn(range(runs), size, "a test", update), priorities.total, priorities.values]
                priorities.put(at[:, ::2], np.zeros((runs, -(-size // 2)), np.float32))
                if not priorities.total.all():
                    break
            found.append(both)
        for one, other in zip(*found, strict=True):
            assert (one == other).all()


def test_uniform_draws_have_the_same_bits_both_ways(monkeypatch):
    """Rings of few and of many usable steps: some draws are repeated, and in some rings all usable steps are listed."""
    kernel.expect()
    empty = retried = 0
    for case in range(200):
        rng = np.random.default_rng(case)
        runs, environments, rows = (int(rng.integers(1, most)) for most in (4, 3, 40))
        ring = Ring(replace(EMULATOR, stack=int(rng.choice([1, 3]))), runs, environments, rows * environments)
        n_step, ended = NStep(int(rng.integers(1, 5)), bool(rng.integers(2))), np.ones((runs, environments), bool)
        for _ in range(int(rng.integers(1, 2 * rows + 2))):
            ended = drawn_at_random(ring, rng, ended)
        size, found = int(rng.integers(1, 33)), []
        for is_used in (False, True):
            monkeypatch.setattr(kernel, "is_used", lambda used=is_used: used)
            try:
                found.append(drawn(ring, n_step, range(5, 5 + runs), size, case))
            except EmptyMemory:
                found.append(None)
        if found[0] is None:
            assert found[1] is None
            empty += 1
            continue
        assert all((one == other).all() for one, other in zip(*found, strict=True))
        for run in range(runs):
            numbers, tries = _drawn_plainly(ring, n_step, run, host_stream(5 + run, "replay", case), size)
            assert numbers == [(t - ring.oldest) * environments + n for t, n in _pairs(found[0], run)]
            retried += tries > 1
    assert empty > 10
    assert retried > 50


def _pairs(index, run):
    return list(zip(index.step[run].tolist(), index.environment[run].tolist(), strict=True))


def _drawn_plainly(ring, n_step, run, stream, size):
    """Each try draws anew for all examples, and counts for those without a usable step; then all usable ones are
    listed. Returns the numbers, and the number of tries.
    """
    there = ring.held * ring.environments
    steps, environments = np.divmod(np.arange(there), ring.environments)
    shape = (ring.runs, there)
    every = Index(np.broadcast_to(ring.oldest + steps, shape), np.broadcast_to(environments, shape))
    usable = n_step.usable(ring, every)[run].tolist()
    numbers = stream.integers(there, size=size).tolist()
    for tries in range(1, TRIES):
        if all(usable[number] for number in numbers):
            return numbers, tries
        again = stream.integers(there, size=size).tolist()
        numbers = [number if usable[number] else other for number, other in zip(numbers, again, strict=True)]
    if not all(usable[number] for number in numbers):
        among = [number for number in range(there) if usable[number]]
        listed = [among[at] for at in stream.integers(len(among), size=size).tolist()]
        numbers = [number if usable[number] else other for number, other in zip(numbers, listed, strict=True)]
    return numbers, TRIES


@pytest.mark.parametrize("limit", [1, 2, 3, 1000, 2**31 + 1, 2**32 - 1])
def test_whole_numbers_are_those_of_numpys_generator(limit):
    """Where half of all numbers are refused, too."""
    kernel.expect()
    keys, none = [stream_key(seed, "a test") for seed in range(3)], np.zeros((1, 3, 1), np.bool_)
    numbers, _ = kernel.draw_uniformly(keys, none, none, none, none, False, 0, limit, 1, 1, 501)
    wanted = [host_stream(seed, "a test").integers(limit, size=501) for seed in range(3)]
    assert (numbers == np.stack(wanted)).all()


def test_a_point_beyond_the_last_sum_gives_the_last_place_with_a_priority(way, monkeypatch):
    """Rounding can give it: here the block's sum is stored a little too large."""
    priorities = Priorities(1, 2 * BLOCK)
    priorities.put(np.array([[7, 9]]), np.array([[1.0, 1.0]], np.float32))
    priorities._sums[0, 0] = 4.0
    drawn = priorities.drawn([0], 8, "a test", 0)
    assert drawn[0, 4:].tolist() == [9] * 4
