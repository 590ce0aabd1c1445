"""The i.i.d. counterpart of class-incremental learning: all classes at once, with the same number of steps, evaluated
group by group.
"""

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.labelled.benchmark import Lesson
from plasticity_lab.benchmarks.labelled.grouped_classes import GroupedClasses
from plasticity_lab.component import setting, with_settings
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream


@with_settings
class JointClasses(GroupedClasses):
    """Every task trains on the images of all `groups` groups; task t is evaluated on group t, as in split training.

    An epoch shows as many images as an epoch of a split task, so that the same settings give steps of the same number
    and size. The first epoch shows the first part of a pass over all images, the next epoch the next part. If the
    number of groups equals the number of tasks, `epochs` epochs of every task amount to `epochs` passes over all
    images.

    groups: groups that are trained on in every task.
    order: shuffle (every pass in a different order) or fixed (the order of the file).

    Source: Section 2 (Table 1, "joint training" with an "identical budget").
    """

    tasks_are = "groups of classes that come all at once"

    groups: int = setting(20, at_least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tasks > self.groups:
            raise ConfigError(
                f"benchmark.tasks is {self.tasks}, and each is evaluated on a separate group; it must be at most "
                f"benchmark.groups, {self.groups}."
            )
        if self.order == "class_blocks":
            raise ConfigError(
                "benchmark.order is 'class_blocks', and joint training mixes the classes; it must be one of fixed, "
                "shuffle."
            )

    @property
    def group_count(self) -> int:
        """Number of groups that are trained on in every task."""
        return self.groups

    @property
    def max_images(self) -> int:
        """The images of all groups."""
        return self.groups * self.images

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """The training images of all groups, and the held-out ones of group `position`.

        Raises ConfigError if the set has too few classes, or a class has too few training images or no test images.
        """
        return self._lesson(image_set, seed, position, range(self.groups))

    def order_of(self, labels: NDArray[np.int64], seed: int, position: int, epoch: int) -> NDArray[np.int64]:
        """The part of a pass over the N images that epoch `epoch` of the task shows, out of 0 … N − 1."""
        whole, part = divmod(position * self.epochs_of(position) + epoch, self.groups)
        every = np.arange(len(labels))
        if self.order == "shuffle":
            every = host_stream(seed, "order", whole).permutation(len(labels))
        return every[part * self.images :][: self.images]

    _fewer = "benchmark.groups"
