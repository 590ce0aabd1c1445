"""What is remembered of earlier tasks and drawn from it: functions of seeds and positions, so that nothing is saved.

Legend: K runs, T tasks, N images of a task, M images in the memory, S steps, R images replayed at a step.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.randomness.host import host_stream

Indices = NDArray[np.int64]


def shares(sizes: Sequence[int], memory: int, per_task: int) -> list[int]:
    """How many images of each task are remembered once that number of tasks is learned.  sizes: how many each task had.

    All the same, as many as there is room for; what is left over is given to the earliest tasks, one each. Never more
    than `per_task` of a task, nor more than `memory` in all.
    """
    each, left = divmod(memory, len(sizes))
    return [min(size, per_task, each + (task < left)) for task, size in enumerate(sizes)]


def remembered(tasks: Sequence[Sequence[Indices]], memory: int, per_task: int, seeds: Sequence[int]) -> Indices:
    """The memory of every run after some tasks, (K, M).  tasks: of each, the images of each run, (N,).

    A task's images are put in an order that is drawn once, and its first ones are remembered: where its share shrinks,
    those that stay are among those that were there. seeds: the runs' own.
    """
    if not tasks:
        return np.zeros((len(seeds), 0), np.int64)
    sizes = [len(of_runs[0]) for of_runs in tasks]
    held = shares(sizes, memory, per_task)
    runs = [
        [
            images[host_stream(seed, "memory", task).permutation(len(images))[:share]]
            for task, (images, share) in enumerate(zip(of_run, held, strict=True))
        ]
        for seed, of_run in zip(seeds, zip(*tasks, strict=True), strict=True)
    ]
    return np.stack([np.concatenate(of_run) for of_run in runs])


def drawn(there: int, replayed: int, steps: int, generator: np.random.Generator) -> Indices:
    """Which of a memory's images each step replays, (S, R): R out of `there`, any as likely, none twice in a step.

    R is `replayed`, or `there` where that is less. Floyd's algorithm (Bentley & Floyd 1987), all steps at a time.
    """
    wanted = min(replayed, there)
    chosen = np.full((steps, wanted), -1)
    for place, last in enumerate(range(there - wanted, there)):
        image = generator.integers(0, last, steps, endpoint=True)
        taken = (chosen == image[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, last, image)
    return chosen
