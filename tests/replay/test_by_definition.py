"""Priorities, draws, returns and observations against plain Python, by NumPy and by our kernel: drawn cases."""

from dataclasses import replace

import numpy as np
import pytest

from plasticity_lab.kernels import replay as kernel
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.prioritised import BLOCK, Priorities, Prioritised
from plasticity_lab.replay.ring import Ring
from plasticity_lab.replay.uniform import batch_of
from tests.helpers.made_up_bodies import EMULATOR
from tests.helpers.plain_replay import Kept, PlainMemory

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


def test_a_point_beyond_the_last_sum_gives_the_last_place_with_a_priority(way, monkeypatch):
    """Rounding can give it: here the block's sum is stored a little too large."""
    priorities = Priorities(1, 2 * BLOCK)
    priorities.put(np.array([[7, 9]]), np.array([[1.0, 1.0]], np.float32))
    priorities._sums[0, 0] = 4.0
    drawn = priorities.drawn([0], 8, "a test", 0)
    assert drawn[0, 4:].tolist() == [9] * 4
