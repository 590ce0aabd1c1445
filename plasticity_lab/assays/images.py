"""The images of labelled benchmarks as rows of a problem.

Legend: K runs, R repetitions, N examples, C copies.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.agents.supervised.images import laid_out
from plasticity_lab.assays.assay import Given, Problem
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark, Lesson
from plasticity_lab.randomness.host import host_stream


def lessons_of(given: Given, position: int) -> list[Lesson]:
    """The runs' lessons of a task, K."""
    benchmark = given.benchmark
    assert isinstance(benchmark, LabelledBenchmark)
    return [benchmark.lesson(given.resource, seed, position) for seed in given.parts.stream_seeds]


def rows_of(given: Given, lessons: Sequence[Lesson], held_out: bool = False) -> tuple[Tensor, Tensor]:
    """The images of lessons as rows, and the first row of each run's images, (K·R, 1)."""
    order = None if given.pixels is None else given.pixels.order
    images, _ = laid_out(given.resource, lessons, given.device, held_out=held_out, order=order)
    return images.flatten(0, 1), given.offsets(images.shape[1], own=len(images) > 1)


def for_pairs(given: Given, each: Sequence[np.ndarray]) -> Tensor:
    """A number for each example of each run and repetition, as (K·R, N)."""
    return torch.from_numpy(np.stack(each)).to(given.device)


def images_drawn(given: Given, there: int, most: int) -> list[np.ndarray]:
    """For each run and repetition at most `most` of a task's images, drawn without repetition."""
    return [host_stream(seed, "assay images").permutation(there)[:most] for seed in given.seeds]


def labelled_problem(given: Given, lessons: Sequence[Lesson], most: int) -> Problem:
    """At most `most` training images of lessons with their labels, and all held-out images as the test."""
    of_pairs = [lesson for lesson in lessons for _ in range(given.repetitions)]
    images = images_drawn(given, len(lessons[0].images), most)
    labels = [lesson.labels[at] for lesson, at in zip(of_pairs, images, strict=True)]
    tests = [np.arange(len(lesson.held_out)) for lesson in of_pairs]
    test_labels = [lesson.held_out_labels for lesson in of_pairs]
    rows, first = rows_of(given, lessons)
    test_rows, test_first = rows_of(given, lessons, held_out=True)
    return Problem(
        rows,
        given.for_copies(for_pairs(given, images) + first),
        given.for_copies(for_pairs(given, labels)),
        test_rows=test_rows,
        test_at=given.for_copies(for_pairs(given, tests) + test_first),
        test_labels=given.for_copies(for_pairs(given, test_labels)),
    )
