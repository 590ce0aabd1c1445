"""The classes of a set in groups with one head: shared by split and joint training."""

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.labelled.benchmark import NORMALISED, ORDERS, Lesson
from plasticity_lab.benchmarks.labelled.by_class import ByClass
from plasticity_lab.component import setting, with_settings
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream


@with_settings
class GroupedClasses(ByClass):
    """Groups of `classes_per_task` classes; task t is evaluated on group t. Final classes define the training images.

    The stream seed puts all classes in a random order, and each group takes the next of them: no class is in two
    groups. Labels keep their true values, and the head has an output for every class of the set, in all tasks. Held out
    are the test images of the group's classes, equally many per class (the number of the class with the fewest).

    classes_per_task: classes of a group.
    """

    tasks_are = "groups of classes"

    images: int = field(init=False)
    classes_per_task: int = setting(5, at_least=1)
    images_per_class: int = setting(500, at_least=1)
    order: str = setting("shuffle", one_of=ORDERS)
    normalise: str = setting("std", one_of=NORMALISED)

    def __post_init__(self) -> None:
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
        self.check_enough(
            image_set,
            self.group_count * self.classes_per_task,
            f"{self.group_count} groups of {self.classes_per_task}, no class in two",
            f"{self._fewer} or benchmark.classes_per_task",
        )
        trained = [label for group in groups for label in self.classes_of(seed, group, image_set.classes)]
        images = np.sort(np.concatenate([self.images_of_class(image_set, seed, position, label) for label in trained]))
        held_out = self.held_out_of(image_set, self.classes_of(seed, position, image_set.classes))
        held_out = held_out[self.first_held_out(len(held_out))]
        return Lesson.of_set(image_set, images, held_out)

    _fewer = "benchmark.tasks"
    """The setting that makes fewer groups."""
