"""Warm starts: a share of the images first, then all of them."""

from collections.abc import Sequence

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark, Lesson
from plasticity_lab.component import check, setting, with_settings
from plasticity_lab.data.image_set import ImageSet


@with_settings
class WarmStart(LabelledBenchmark):
    """The first task trains on a share of the run's images, the second on all of them; both have the same test images.

    With `intervention=fresh_each_task` the second task trains from scratch: the difference in its final accuracy is the
    cost of the warm start.

    share: the part of the images that the first task has, rounded down to whole images but at least one.

    Source: Ash & Adams 2020, Section 2. Their code trains to 99 % training accuracy; here tasks have a fixed length.
    """

    tasks_are = "a share of the images, then all"

    share: float = setting(0.5, above=0, below=1)

    def __post_init__(self) -> None:
        check("benchmark.tasks", self.tasks, at_most=2)
        super().__post_init__()

    @property
    def task_images(self) -> Sequence[int]:
        """Images of both tasks."""
        return [max(1, int(self.images * self.share)), self.images]

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """The run's images: their first part in the first task, all in the second."""
        images = self.chosen(image_set, seed)[: self.task_images[position]]
        return Lesson.of_set(image_set, images, self.first_held_out(len(image_set.test_labels)))
