"""Class-incremental learning: the classes of a set come group after group, and all must be distinguished at the end."""

from plasticity_lab.benchmarks.labelled.benchmark import Lesson
from plasticity_lab.benchmarks.labelled.grouped_classes import GroupedClasses
from plasticity_lab.data.image_set import ImageSet


class SplitClasses(GroupedClasses):
    """Task t trains on the images of group t alone, for `epochs` passes; no class and no image comes in two tasks.

    Source: Section 2, Appendices B and B.5 (Split-CIFAR-100: 20 tasks of 5 classes, 100 epochs each); van de Ven et al.
        2022 for the name of the scenario. The paper does not state the order of classes and images: here both are
        drawn.
    """

    tasks_are = "groups of classes that come one after another"
    classes_come_once = True

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """The training and the held-out images of group `position`.

        Raises ConfigError if the set has too few classes, or of a class too few training images or no test images.
        """
        return self._lesson(image_set, seed, position, [position])
