"""The classes of a set in groups with one head: shared by split and joint training."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark, Lesson, check_every_class, held_out_in_turn
from plasticity_lab.component import check
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream


@dataclass(eq=False, kw_only=True)
class GroupedClasses(LabelledBenchmark):
    """Groups of `classes_per_task` classes; task t is evaluated on group t. Final classes define the training images.

    The stream seed puts all classes in a random order, and each group takes the next of them: no class is in two
    groups. Labels keep their true values, and the head has an output for every class of the set, in all tasks. Held out
    are the test images of the group's classes, equally many per class (the number of the class with the fewest).

    classes_per_task: classes of a group.
    images_per_class: training images of each class: the first ones of the file, or drawn by the stream seed (`subset`).
    """

    tasks_are = "groups of classes"

    images: int = field(init=False)
    classes_per_task: int = 5
    images_per_class: int = 500
    order: str = "shuffle"
    normalise: str = "std"

    def __post_init__(self) -> None:
        check("benchmark.classes_per_task", self.classes_per_task, at_least=1)
        check("benchmark.images_per_class", self.images_per_class, at_least=1)
        self.images = self.classes_per_task * self.images_per_class
        super().__post_init__()
        if self.subset == "each_task":
            raise ConfigError(
                "benchmark.subset is 'each_task', and no class comes in two tasks of this benchmark; it must be one of "
                "first, shared, drawn."
            )

    @property
    def group_count(self) -> int:
        """Number of groups: one for each task."""
        return self.tasks

    def classes_of(self, seed: int, group: int, classes: int) -> NDArray[np.int64]:
        """The labels of a group's classes, out of 0 … classes − 1, in the order they were drawn."""
        drawn = host_stream(seed, "classes").permutation(classes)
        return drawn[group * self.classes_per_task :][: self.classes_per_task]

    def _lesson(self, image_set: ImageSet, seed: int, position: int, groups: Sequence[int]) -> Lesson:
        """The images of some groups by position in the file, and the held-out images of the task's group.

        Raises ConfigError if the set has too few classes, or a class has too few training images or no test images.
        """
        self._check_enough(image_set)
        trained = [label for group in groups for label in self.classes_of(seed, group, image_set.classes)]
        images = np.sort(np.concatenate([self._images_of_class(image_set, seed, int(label)) for label in trained]))
        held_out = held_out_in_turn(image_set, self.classes_of(seed, position, image_set.classes))
        held_out = held_out[self.first_held_out(len(held_out))]
        return Lesson(
            images=images,
            labels=image_set.train_labels[images],
            pixels=None,
            held_out=held_out,
            held_out_labels=image_set.test_labels[held_out],
        )

    def _images_of_class(self, image_set: ImageSet, seed: int, label: int) -> NDArray[np.int64]:
        there = image_set.train_by_class[label]
        if self.subset != "first":
            there = self.drawn_subset(seed, None, label).permutation(there)
        return there[: self.images_per_class]

    def _check_enough(self, image_set: ImageSet) -> None:
        needed = self.group_count * self.classes_per_task
        if needed > image_set.classes:
            raise ConfigError(
                f"{image_set.name} has {image_set.classes} classes; {self.group_count} groups of "
                f"{self.classes_per_task}, no class in two, need {needed}. Lower {self._fewer} or "
                "benchmark.classes_per_task."
            )
        check_every_class(image_set, self.images_per_class)

    _fewer = "benchmark.tasks"
    """The setting that makes fewer groups."""
