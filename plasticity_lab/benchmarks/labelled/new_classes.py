"""Input shift: each task has new classes to distinguish."""

from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.labelled.benchmark import NORMALISED, ORDERS, Lesson
from plasticity_lab.benchmarks.labelled.by_class import ByClass
from plasticity_lab.component import setting, with_settings
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.randomness.host import host_stream


@with_settings
class NewClasses(ByClass):
    """Each task has `classes_per_task` classes that no earlier task had, with the labels 0, 1, …

    The stream seed puts all classes in a random order, and each task takes the next of them. The head has an output for
    each class of a task, and gets no signal when a task begins. Evaluation uses the test images of the task's classes,
    equally many per class (the number of the class with the fewest).

    classes_per_task: classes of a task.
    classes_repeat: for sets of few classes: a new random order follows when one is used up. No class comes twice within
        one order.

    Source: Section 6, Appendix E (Continual ImageNet); Dohare et al. 2024 and Kumar et al. 2023, who shuffle.
    """

    images: int = field(init=False)
    classes_per_task: int = setting(2, at_least=2)
    images_per_class: int = setting(600, at_least=1)
    classes_repeat: bool = False
    order: str = setting("shuffle", one_of=ORDERS)
    normalise: str = setting("std", one_of=NORMALISED)

    def __post_init__(self) -> None:
        self.images = self.classes_per_task * self.images_per_class
        super().__post_init__()

    def outputs(self, image_set: ImageSet) -> int:
        """Number of outputs: one for each class of a task."""
        return self.classes_per_task

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """The images of task `position`'s classes, class after class as they were drawn; mixed if order=fixed.

        Raises ConfigError if the set has too few classes, or a class has too few training images or no test images.
        """
        together = 1 if self.classes_repeat else self.tasks  # tasks that have no class in common
        fewer = "" if self.classes_repeat else "benchmark.tasks, or set benchmark.classes_repeat=true, or lower "
        self.check_enough(
            image_set,
            together * self.classes_per_task,
            f"{together} tasks of {self.classes_per_task}, no class twice",
            f"{fewer}benchmark.classes_per_task",
        )
        classes = self.classes_of(seed, position, image_set.classes)
        images = np.concatenate([self.images_of_class(image_set, seed, position, each) for each in classes])
        labels = np.repeat(np.arange(len(classes)), self.images_per_class)
        if self.order == "fixed":
            mixed = host_stream(seed, "fixed order", position).permutation(len(images))
            images, labels = images[mixed], labels[mixed]
        held_out = self.held_out_of(image_set, classes)
        evaluated = self.first_held_out(len(held_out))
        return Lesson(
            images=images,
            labels=labels,
            pixels=None,
            held_out=held_out[evaluated],
            held_out_labels=evaluated % len(classes),
        )

    def classes_of(self, seed: int, position: int, classes: int) -> NDArray[np.int64]:
        """The labels of task `position`'s classes, out of 0 … classes − 1, in the order they were drawn."""
        in_an_order = classes // self.classes_per_task if self.classes_repeat else self.tasks
        order, place = divmod(position, in_an_order)
        drawn = host_stream(seed, "classes", order).permutation(classes)
        return drawn[place * self.classes_per_task :][: self.classes_per_task]
