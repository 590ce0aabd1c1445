"""Base class of benchmarks with tasks of whole classes."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.component import with_settings
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.errors import ConfigError


@with_settings
class ByClass(LabelledBenchmark):
    """A task shows all images of some classes.  Final classes set `images` before they call this `__post_init__`.

    images_per_class: training images of each class: the first ones of the file, or drawn by the stream seed (`subset`).
    """

    images_per_class: int = 500

    def images_of_class(self, image_set: ImageSet, seed: int, position: int, label: int) -> NDArray[np.int64]:
        """The training images of a class in task `position`."""
        images = image_set.train_by_class[label]
        if self.subset != "first":
            images = self.drawn_subset(seed, position, int(label)).permutation(images)
        return images[: self.images_per_class]

    def held_out_of(self, image_set: ImageSet, classes: Iterable[int]) -> NDArray[np.int64]:
        """Test images of some classes, for each class as many as the rarest class of the set has.

        Classes take turns, so that the first few images cover all classes.
        """
        fewest = min(map(len, image_set.test_by_class))
        return np.stack([image_set.test_by_class[label][:fewest] for label in classes], axis=1).ravel()

    def check_enough(self, image_set: ImageSet, needed: int, what: str, lower: str) -> None:
        """Raises ConfigError if the set has too few classes, or a class has too few training images or no test images.

        needed: the number of classes that `what` need. lower: the advice, which follows "Lower".
        """
        if needed > image_set.classes:
            raise ConfigError(
                f"{image_set.name} has {image_set.classes} classes; {what}, need {needed}. Lower {lower}."
            )
        fewest = min(map(len, image_set.train_by_class))
        if self.images_per_class > fewest:
            raise ConfigError(
                f"benchmark.images_per_class is {self.images_per_class}; {image_set.name} has a class of {fewest} "
                "training images, and the number must be at most that."
            )
        empty = [label for label, images in enumerate(image_set.test_by_class) if not len(images)]
        if empty:
            raise ConfigError(
                f"{image_set.name} has no test images of class {empty[0]}; a task is evaluated on as many test images "
                "of each of its classes as the rarest one has, so every class of the set must have some."
            )
