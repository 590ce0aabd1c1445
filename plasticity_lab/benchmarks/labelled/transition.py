"""Gradual change: the first steps of a task mix it with the task before.

Legend: K runs, S batches of an epoch, B examples of a batch.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.randomness.host import host_stream


def shares_of(
    benchmark: LabelledBenchmark, seeds: Sequence[int], position: int, epoch: int
) -> NDArray[np.float32] | None:
    """The part of each example of an epoch that is the task's own, (K, S, B); None if the epoch has no transition.

    With interpolation the part is s / (m + 1) in step s = 1, 2, … of a transition of m steps. Example i of the task
    is paired with example i of the task before (modulo its number of examples): x = part · new + (1 − part) · old, and
    the loss has the same two parts, as a target between both labels. With sampling each example is wholly new with that
    probability, and otherwise old. A task with fewer steps than m is a transition of its length.

    Source: Liu & Mou 2026, input and output interpolation and task sampling; they do not state the pairs for tasks of
        different images.
    """
    steps, batches = min(benchmark.transition_steps, benchmark.steps_of(position)), benchmark.batches_of(position)
    first = epoch * batches
    if not position or first >= steps:
        return None
    of_steps = np.minimum(np.arange(first + 1, first + batches + 1) / (steps + 1), 1)
    shape = batches, benchmark.batch_size
    if benchmark.transition == "interpolate":
        return np.broadcast_to(of_steps.astype(np.float32)[:, None], (len(seeds), *shape))
    drawn = [host_stream(seed, "transition", position, epoch).random(shape) for seed in seeds]
    return (np.stack(drawn) < of_steps[:, None]).astype(np.float32)
