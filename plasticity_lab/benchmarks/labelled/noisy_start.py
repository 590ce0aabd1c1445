"""A noisy start: wrong labels in the first part of training, true ones afterwards."""

from dataclasses import replace

import numpy as np

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark, Lesson
from plasticity_lab.component import check, setting, with_settings
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.randomness.host import host_stream


@with_settings
class NoisyStart(LabelledBenchmark):
    """The first task has random labels for a part of the run's images; the second has the true labels of all.

    Both are evaluated on test images with their true labels. Each image is replaced with probability `noise`, and its
    new label is uniform over all classes, so it may be the true one.

    noise: the probability that an image's label is replaced in the first task.

    Source: Igl et al. 2021, Section 3 (noisy labels in the first part of training on CIFAR-10); with noise=1 the random
        labels before true ones of Lyle et al. 2023.
    """

    tasks_are = "images with wrong labels, then with true ones"

    noise: float = setting(0.5, above=0, at_most=1)

    def __post_init__(self) -> None:
        check("benchmark.tasks", self.tasks, at_most=2)
        super().__post_init__()

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """The run's images with the labels of task `position`."""
        held_out = self.first_held_out(len(image_set.test_labels))
        true = Lesson.of_set(image_set, self.chosen(image_set, seed), held_out)
        if position:
            return true
        draw, count = host_stream(seed, "noisy labels"), len(true.labels)
        replaced = draw.random(count) < self.noise
        return replace(true, labels=np.where(replaced, draw.integers(0, image_set.classes, count), true.labels))
