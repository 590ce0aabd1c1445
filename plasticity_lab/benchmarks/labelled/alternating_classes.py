"""Input shift with alternating difficulty: new classes in every task, several in a hard one and few in an easy one."""

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.labelled.benchmark import NORMALISED, ORDERS, Lesson
from plasticity_lab.benchmarks.labelled.by_class import ByClass
from plasticity_lab.component import setting, with_settings
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.randomness.host import host_stream


@with_settings
class AlternatingClasses(ByClass):
    """Even tasks are hard (`classes_hard` classes), odd ones easy (`classes_easy`); metrics count the hard ones.

    The stream seed puts all classes in a random order, and each task takes the next of them: no class comes twice.
    Labels keep their true values: the head has an output for every class of the set. Evaluation uses the test images of
    the task's classes, equally many per class (the number of the class with the fewest).

    classes_hard: classes of a hard task.
    classes_easy: classes of an easy one.
    classes_repeat: for sets of few classes: each hard task and the easy one after it draw from all classes again, so
        that no class comes twice within such a pair.
    order: class_blocks (in every epoch all images of a class, then the next, as the classes were drawn), fixed (the
        order of the file, which mixes the classes), shuffle.

    Source: Section 6, Appendix E (5+1 CIFAR); Kumar et al. 2023, who shuffle. The paper does not give the order of the
        images; its numbers fit class blocks.
    """

    images: int = field(init=False)
    classes_hard: int = setting(5, at_least=1)
    classes_easy: int = setting(1, at_least=1)
    images_per_class: int = setting(500, at_least=1)
    classes_repeat: bool = False
    order: str = setting("class_blocks", one_of=ORDERS)
    normalise: str = setting("std", one_of=NORMALISED)

    def __post_init__(self) -> None:
        self.images = max(self.classes_hard, self.classes_easy) * self.images_per_class
        super().__post_init__()

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """The images of task `position`'s classes.

        Raises ConfigError if the set has too few classes, or a class has too few training images or no test images.
        """
        hard, easy = self.classes_hard, self.classes_easy
        together = 2 if self.classes_repeat else self.tasks  # number of consecutive tasks without a common class
        self.check_enough(
            image_set,
            (together + 1) // 2 * hard + together // 2 * easy,
            f"{together} tasks of {hard} and {easy} in turn, no class twice",
            "benchmark.tasks or the classes of a task, or set benchmark.classes_repeat=true",
        )
        classes = self.classes_of(seed, position, image_set.classes)
        # Each class in the order of the file, also if its images were drawn.
        images = np.concatenate([np.sort(self.images_of_class(image_set, seed, position, each)) for each in classes])
        if self.order == "fixed":
            images.sort()
        held_out = np.sort(self.held_out_of(image_set, classes))
        held_out = held_out[self.first_held_out(len(held_out))]
        return Lesson(
            images=images,
            labels=image_set.train_labels[images],
            pixels=None,
            held_out=held_out,
            held_out_labels=image_set.test_labels[held_out],
            hard=is_hard(position),
        )

    def classes_of(self, seed: int, position: int, classes: int) -> NDArray[np.int64]:
        """The labels of task `position`'s classes, out of 0 … classes − 1, in the order they were drawn."""
        pair = position // 2
        purpose = ("classes", pair) if self.classes_repeat else ("classes",)
        start = 0 if self.classes_repeat else pair * (self.classes_hard + self.classes_easy)
        drawn = host_stream(seed, *purpose).permutation(classes)[start:]
        hard, easy = self.classes_hard, self.classes_easy
        return drawn[:hard] if is_hard(position) else drawn[hard : hard + easy]

    @property
    def task_images(self) -> Sequence[int]:
        """Training images of a hard task and of an easy task."""
        return [self.classes_hard * self.images_per_class, self.classes_easy * self.images_per_class]

    def order_of(self, labels: NDArray[np.int64], seed: int, position: int, epoch: int) -> NDArray[np.int64]:
        """The order of the task's N images in its epoch `epoch`, a permutation of 0 … N − 1."""
        if self.order == "class_blocks":
            return np.arange(len(labels))  # the lesson lists them class after class, as the classes were drawn
        return super().order_of(labels, seed, position, epoch)


def is_hard(position: int) -> bool:
    """Whether the task at that position is hard: the first one is, and every other one after it."""
    return position % 2 == 0
