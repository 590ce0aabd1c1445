"""The tasks of a whole pack, cut into chunks for the trainer.

Legend: K runs, S steps of a chunk, B examples of a batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark, Lesson
from plasticity_lab.benchmarks.labelled.transition import shares_of
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.records import rows

CHUNK_STEPS = 500
"""Maximum number of steps between two checks of the clock. Chunks end at multiples of it, in resumed runs and packs
too, so sums over a chunk are the same in every run.
"""


@dataclass(frozen=True)
class Chunk(rows.Chunk):
    """Consecutive steps within one epoch of one task.

    images (K, S, B): indices of the batches' images among the task's images.
    counts (S,): number of examples in each batch. The other rows are padding: they repeat image 0 with weight 0.
    shares (K, S, B): the part of each example that is the task's own; the rest is the task before. None: all of it.
    """

    images: NDArray[np.int64]
    counts: NDArray[np.int64]
    shares: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Task(rows.Task):
    """A lesson for each run of a pack, all of equal length.  marks: `hard`, whether the task counts in metrics.

    earlier: the lessons of the task before, if this task begins with a transition; otherwise empty.
    """

    lessons: Sequence[Lesson]
    benchmark: LabelledBenchmark
    seeds: Sequence[int]
    earlier: Sequence[Lesson] = ()

    def chunks(self, after: rows.Position) -> Iterator[Chunk]:
        """The remaining chunks; all of them unless `after` lies within this task."""
        benchmark, position = self.benchmark, self.position
        taken = after.step if after.task == position else 0
        batches, steps = benchmark.batches_of(position), benchmark.steps_of(position)
        before, epochs_before = benchmark.steps_before(position), benchmark.epochs_before(position)
        for epoch in range(taken // batches, benchmark.epochs_of(position)):
            images, counts = self._batches(epoch)
            shares = shares_of(benchmark, self.seeds, position, epoch)
            end = min((epoch + 1) * batches, steps)
            start = max(taken, epoch * batches)
            while start < end:
                within = start - epoch * batches
                stop = min(epoch * batches + (within // CHUNK_STEPS + 1) * CHUNK_STEPS, end)
                shown = slice(within, stop - epoch * batches)
                yield Chunk(
                    task=position,
                    epoch=epochs_before + epoch,
                    first=before + start,
                    steps=stop - start,
                    ends_epoch=stop == end,
                    marks=self.marks,
                    images=images[:, shown],
                    counts=counts[shown],
                    shares=None if shares is None else shares[:, shown],
                )
                start = stop

    def _batches(self, epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All batches of one epoch: images (K, batches, B), counts (batches,)."""
        size, batches = self.benchmark.batch_size, self.benchmark.batches_of(self.position)
        there = self.benchmark.images_of(self.position)
        images = np.zeros((len(self.lessons), batches * size), np.int64)
        for row, lesson, seed in zip(images, self.lessons, self.seeds, strict=True):
            row[:there] = self.benchmark.order_of(lesson.labels, seed, self.position, epoch)
        counts = np.full(batches, size)
        counts[-1] = there - (batches - 1) * size
        return images.reshape(len(self.lessons), batches, size), counts


class Stream:
    """The tasks of K runs of one benchmark: seeds (K,) are their stream seeds."""

    def __init__(self, benchmark: LabelledBenchmark, image_set: ImageSet, seeds: Sequence[int]) -> None:
        self.benchmark = benchmark
        self.image_set = image_set
        self.seeds = seeds

    def tasks(self, after: rows.Position) -> Iterator[Task]:
        """The unfinished tasks, starting with the task that contains `after`."""
        for position in range(after.task, self.benchmark.tasks):
            yield self.task(position)

    def task(self, position: int) -> Task:
        """The task at that position."""
        lessons = [self.benchmark.lesson(self.image_set, seed, position) for seed in self.seeds]
        before = self.seeds if position and self.benchmark.transition_steps else ()
        earlier = [self.benchmark.lesson(self.image_set, seed, position - 1) for seed in before]
        return Task(position, {"hard": lessons[0].hard}, lessons, self.benchmark, self.seeds, earlier)
