"""The memory of earlier tasks against a slow one, which remembers by hand, and what is drawn from it."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from plasticity_lab.agents.replay.learner import drawn, remembered, shares
from plasticity_lab.randomness.host import host_stream

SEEDS = (4, 0, 11)
TASKS = [[np.arange(40 * task, 40 * task + 40) * 3 + run for run in range(3)] for task in range(7)]
"""Of each task the 40 images of three runs; no run has an image of another's."""


class SlowMemory:
    """One run's: a list for each task, filled when it ends; while there is too much, the longest list loses its last
    image, the later one of two as long.
    """

    def __init__(self, memory: int, per_task: int, seed: int) -> None:
        self.memory, self.per_task, self.seed, self.lists = memory, per_task, seed, []

    def end_of_task(self, images: np.ndarray) -> None:
        order = list(host_stream(self.seed, "memory", len(self.lists)).permutation(len(images)))
        self.lists.append([images[place] for place in order][: self.per_task])
        while sum(map(len, self.lists)) > self.memory:
            longest = max(range(len(self.lists)), key=lambda task: (len(self.lists[task]), task))
            self.lists[longest].pop()


@pytest.mark.parametrize(
    ("memory", "per_task"),
    [(10_000, 500), (7 * 12, 12), (60, 500), (60, 9), (61, 31), (5, 3), (1, 1), (39, 40), (41, 40)],
)
def test_it_holds_what_a_slow_memory_holds_and_never_more_than_its_bounds(memory, per_task):
    slow = [SlowMemory(memory, per_task, seed) for seed in SEEDS]
    before = [set() for _ in SEEDS]
    for learned in range(len(TASKS) + 1):
        held = remembered(TASKS[:learned], memory, per_task, SEEDS)
        assert held.shape[1] <= memory
        for run, (own, by_hand) in enumerate(zip(held, slow, strict=True)):
            assert own.tolist() == [image for images in by_hand.lists for image in images]
            of_tasks = Counter(image // 3 // 40 for image in own)
            assert max(of_tasks.values(), default=0) <= per_task
            assert {image % 3 for image in own} <= {run}, "no image of another run"
            assert set(own) - before[run] <= set(TASKS[learned - 1][run]), "only the last task's images are new"
            before[run] = set(own)
        if learned < len(TASKS):
            for by_hand, images in zip(slow, TASKS[learned], strict=True):
                by_hand.end_of_task(images)


def test_split_cifar100_fills_its_memory_exactly():
    assert shares([2500] * 20, 10_000, 500) == [500] * 20
    assert shares([2500] * 3, 10_000, 500) == [500] * 3
    assert shares([280] * 5, 280, 56) == [56] * 5


def test_a_step_replays_no_image_twice_and_any_as_likely_as_another():
    draws = drawn(4, 2, 60_000, host_stream(0, "test"))
    pairs = Counter(frozenset(row) for row in draws.tolist())
    assert pairs.keys() == {frozenset(pair) for pair in combinations(range(4), 2)}
    # 10,000 of each are due, with a standard deviation of 91.
    assert all(abs(count - 10_000) < 400 for count in pairs.values())
    many = drawn(1000, 32, 5000, host_stream(1, "test"))
    assert all(len(set(row)) == 32 for row in many.tolist())
    # 160 of each image are due; chi-square has 999 degrees of freedom, less the 3 % that a draw without return takes.
    counts = np.bincount(many.ravel(), minlength=1000)
    assert len(counts) == 1000
    assert 800 < ((counts - 160) ** 2 / 160).sum() < 1150


@pytest.mark.parametrize(("there", "replayed"), [(0, 32), (5, 32), (32, 32), (33, 32)])
def test_a_small_memory_is_replayed_whole(there, replayed):
    draws = drawn(there, replayed, 6, host_stream(0, "test"))
    assert draws.shape == (6, min(there, replayed))
    assert all(len(set(row)) == min(there, replayed) and set(row) <= set(range(there)) for row in draws.tolist())
