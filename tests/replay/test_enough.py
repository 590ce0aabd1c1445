"""The check that a memory always holds a step to learn from, beside all courses that episodes can take."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from plasticity_lab.randomness.host import host_stream
from plasticity_lab.replay.enough import Remembered
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.prioritised import Prioritised
from plasticity_lab.replay.ring import Index, Ring
from tests.helpers.made_up_bodies import EMULATOR

MANY = 60


def drawn(number: int, most: int = 9) -> Remembered:
    """Settings at random, of a run of at most so many rows."""
    draw = host_stream(number, "memories", most)
    tasks = int(draw.integers(1, 4))
    task_rows = int(draw.integers(1, most // tasks + 1))
    environments = int(draw.integers(1, 4))
    rows = int(draw.integers(1, most + 1))
    return Remembered(
        n=int(draw.integers(1, 5)),
        stack=int(draw.integers(1, 5)),
        rows=rows,
        tasks=tasks,
        task_rows=task_rows,
        longest=[int(each) for each in draw.integers(2, most, size=draw.integers(1, 3))],
        environments=environments,
        min_history=int(draw.integers(0, rows * environments)),
        update_period=int(draw.integers(1, 6)),
        whole_episodes=bool(draw.integers(2)),
        emptied=bool(draw.integers(2)),
    )


def simulated(memory: Remembered) -> dict[int, bool]:
    """After each number of rows: whether there is a course of episodes after which the ring has no usable step.

    Every course is a run of one pack: at each step the rules may end the episode, or may not.
    """
    total = memory.tasks * memory.task_rows
    courses = [(False,) * total] if memory.whole_episodes else list(itertools.product((False, True), repeat=total))
    ends = np.array(courses)
    body = replace(EMULATOR, observation=(memory.stack, 1, 1), stack=memory.stack)
    ring = Ring(body, len(ends), 1, memory.rows)
    n_step = NStep(memory.n)
    priorities = Prioritised(ring, n_step)
    length = np.zeros(len(ends), int)
    found = {}
    for row in range(total):
        task, within = divmod(row, memory.task_rows)
        if within == 0:
            length[:] = 0
            if memory.emptied:
                ring.clear()
                priorities.clear()
        longest = memory.longest[task % len(memory.longest)]
        first = length == 0
        length += 1
        over = length >= longest
        terminated = over if memory.whole_episodes else ends[:, row]
        truncated = over & ~terminated
        length[terminated | truncated] = 0
        shape = (len(ends), 1)
        nothing = np.zeros(shape, bool)
        flags = [each.reshape(shape) for each in (terminated, truncated)]
        ring.add(np.zeros((*shape, *body.frame), np.uint8), np.zeros(shape, int), np.zeros(shape), *flags, nothing,
                 first.reshape(shape))  # fmt: skip
        priorities.added()
        steps = np.broadcast_to(np.arange(ring.oldest, ring.end), (len(ends), ring.held))
        usable = n_step.usable(ring, Index(steps, np.zeros_like(steps))).any(axis=1)
        assert (usable == (priorities._priorities.total > 0)).all()
        found[row + 1] = not usable.all()
    return found


@pytest.mark.parametrize(
    "numbers", [range(MANY), pytest.param(range(MANY, 20 * MANY), marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_it_is_exact(numbers):
    lack, total = 0, 0
    for memory in map(drawn, numbers):
        lacking = simulated(memory)
        assert {end: memory.lacks(end) for end in lacking} == lacking, memory
        asked = [end for end, lacks in lacking.items() if lacks and memory.due(end)]
        assert (memory.first_lack() is None) == (not asked), memory
        lack, total = lack + bool(asked), total + 1
    assert 0 < lack < total


@pytest.mark.parametrize("number", range(200))
def test_in_long_runs_it_looks_at_every_end_that_decides(number):
    memory = drawn(number, most=90)
    asked = [end for end in range(1, memory.tasks * memory.task_rows + 1) if memory.due(end) and memory.lacks(end)]
    assert (memory.first_lack() is None) == (not asked)
