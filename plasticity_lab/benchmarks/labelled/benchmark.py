"""Base class of benchmarks of labelled images. It gives the images, labels, pixel order and held-out images of each
task.

Legend: N training images of a task, M held-out images, D pixels of an image (C·H·W).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.benchmarks.labelled.augmentation import KINDS, Augmentation
from plasticity_lab.component import check, check_limits, setting
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.data.sources import load_images, source_named, verified
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream

ORDERS, NORMALISED = ("fixed", "shuffle", "class_blocks"), ("raw", "std", "half")
SUBSETS = ("first", "shared", "drawn", "each_task")


@dataclass(frozen=True)
class Lesson:
    """One task of one run, as indices into an image set.

    images (N,), labels (N,): the training data.
    pixels (D,): position d shows the image's pixel pixels[d]; None if pixels are not permuted.
    held_out (M,), held_out_labels (M,): the evaluation data. They index the split `held_out_split`, "test" or "train".
    hard: whether the task counts towards the metrics.
    """

    images: NDArray[np.int64]
    labels: NDArray[np.int64]
    pixels: NDArray[np.int64] | None
    held_out: NDArray[np.int64]
    held_out_labels: NDArray[np.int64]
    held_out_split: str = "test"
    hard: bool = True

    @classmethod
    def of_set(cls, image_set: ImageSet, images: NDArray[np.int64], held_out: NDArray[np.int64]) -> "Lesson":
        """Training images and test images of a set with their true labels."""
        return cls(images, image_set.train_labels[images], None, held_out, image_set.test_labels[held_out])


@dataclass(eq=False)
class LabelledBenchmark(Benchmark[ImageSet]):
    """A sequence of tasks over one image set. Final classes implement `lesson`.

    A final class with further settings is `with_settings` and declares only those, with their ranges.

    source: the name of the image set (`data/sources.py`).
    images: training images of a task.
    tasks: number of tasks.
    epochs: passes over its images after which a task ends; null: no such limit.
    steps: steps after which a task ends, if it has not ended before; null: no such limit.
    batch_size: images of a step; the last batch of an epoch may have fewer.
    order: order of the images in an epoch: fixed (the order of the data, in every epoch), shuffle (reshuffled in every
        epoch), class_blocks (one class after another).
    normalise: raw (0 to 1), std (each channel to mean 0 and standard deviation 1), half (−1 to 1).
    subset: first (the first `images` training images), shared (a drawn subset, the same in every run), drawn (drawn
        with the run's stream seed), each_task (as drawn, but drawn again for every task).
    eval_images: held-out images that are evaluated after a task; null: all.
    eval_matrix: whether every task is evaluated after every task, which ACC, BWT and FWT need. It does not affect
        training and is not part of a run's id.
    transition_steps: first steps of each later task that mix it with the task before (see `transition.py`); 0: none.
    transition: interpolate (each example lies between both tasks) or sample (each example is drawn from one of them).
    augment: whether each training image is shifted (crop), mirrored (flip), or both (crop_flip), by a new draw in each
        step (see `augmentation.py`).
    crop_margin: black pixels that a crop adds on each side; an image is shifted by up to that many.
    """

    tasks_are = "labelled images"

    classes_come_once: ClassVar[bool] = False
    """Whether the head has outputs for classes that no earlier task has trained. A network cannot predict these classes
    yet, so forward transfer is not defined.
    """
    permutes: ClassVar[bool] = False
    """Whether tasks permute pixels, so that each task's held-out images have a different pixel order."""
    predicts_numbers: ClassVar[bool] = False
    """Whether labels are numbers to predict, not classes: for `agent=regression`."""
    neutral: ClassVar[Mapping[str, Any]] = {
        "transition_steps": 0,
        "transition": "interpolate",
        "augment": "none",
        "crop_margin": 4,
    }
    read_if: ClassVar[Mapping[str, Any]] = {
        "transition": ("transition_steps", bool),
        "crop_margin": ("augment", lambda augment: "crop" in augment),
    }

    source: str
    images: int
    tasks: int
    epochs: int | None
    steps: int | None
    batch_size: int
    order: str = setting("fixed", one_of=ORDERS)
    normalise: str = setting("raw", one_of=NORMALISED)
    subset: str = setting("first", one_of=SUBSETS)
    eval_images: int | None = setting(None, at_least=1)
    eval_matrix: bool = False
    transition_steps: int = setting(0, at_least=0)
    transition: str = setting("interpolate", one_of=("interpolate", "sample"))
    augment: str = setting("none", one_of=KINDS)
    crop_margin: int = setting(4, at_least=1)

    def __post_init__(self) -> None:
        check_limits(self, "benchmark")
        check("benchmark.images", self.images, at_least=1)
        check("benchmark.tasks", self.tasks, at_least=1)
        check("benchmark.epochs", self.epochs, at_least=1)
        check("benchmark.steps", self.steps, at_least=1)
        check("benchmark.batch_size", self.batch_size, at_least=1)
        if self.epochs is None and self.steps is None:
            raise ConfigError("benchmark.epochs and benchmark.steps are both null; one of them must end a task.")
        if self.batch_size > self.max_shown:
            raise ConfigError(
                f"benchmark.batch_size is {self.batch_size}, and the largest task has {self.max_shown} training "
                "images; it must be at most that."
            )
        if self.augment != "none" and not self.shows_images:
            inputs = "no images" if self.predicts_numbers else "permuted pixels"
            raise ConfigError(
                f"benchmark.augment={self.augment} shifts or mirrors images, and the inputs of this benchmark are "
                f"{inputs}; choose benchmark.augment=none."
            )

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings without `eval_matrix`, and without `transition` and `crop_margin` if they have no effect."""
        left_out = {"eval_matrix"}
        left_out |= set() if settings.get("transition_steps") else {"transition"}
        left_out |= set() if "crop" in settings.get("augment", "none") else {"crop_margin"}
        return {name: value for name, value in super().canonical(settings).items() if name not in left_out}

    @property
    def shows_images(self) -> bool:
        """Whether inputs are images with their pixels in place, which can be shifted and mirrored."""
        return not (self.permutes or self.predicts_numbers)

    @property
    def augmentation(self) -> Augmentation | None:
        """The augmentation of training images; None without."""
        return None if self.augment == "none" else Augmentation(self.augment, self.crop_margin)

    def resource(self, folder: Path) -> ImageSet:
        """Its image set, read from the folder of data sets and verified."""
        return load_images(self.source, folder)

    def data_subfolder(self) -> str:
        """The folder of its image set; "" for a set that ships with a package."""
        return source_named(self.source).subfolder

    def outline(self) -> ImageSet | None:
        """Black images in the number and shape of the published ones; None for a set that ships with a package."""
        outline = source_named(self.source).outline
        return None if outline is None else outline()

    def verified(self, folder: Path) -> str:
        """The image set's location, its number of images and the checks that were made."""
        return verified(self.source, folder)

    def outputs(self, image_set: ImageSet) -> int:
        """Number of classes that a network distinguishes: by default all classes of the set."""
        return image_set.classes

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """Task `position` of the run with that stream seed."""
        raise NotImplementedError

    @property
    def task_images(self) -> Sequence[int]:
        """Number of training images in an epoch of each of the first tasks; later tasks repeat these numbers.

        The repetition makes a run's totals as fast to compute for a billion tasks as for one. `__post_init__` reads it.
        """
        return [self.images]

    def images_of(self, position: int) -> int:
        """Number of training images in an epoch of the task at that position: all of the task's images, or a part of
        them.
        """
        return self.task_images[position % len(self.task_images)]

    @property
    def max_shown(self) -> int:
        """Number of training images in the largest epoch."""
        return max(self.task_images[: self.tasks])

    @property
    def max_images(self) -> int:
        """Number of training images of the largest task."""
        return self.max_shown

    @property
    def max_batches(self) -> int:
        """Batches of the largest epoch."""
        return -(-self.max_shown // self.batch_size)

    def batches_of(self, position: int) -> int:
        """Batches of one epoch; the last may be smaller."""
        return -(-self.images_of(position) // self.batch_size)

    def steps_of(self, position: int) -> int:
        """Steps of the task at that position."""
        by_epochs = None if self.epochs is None else self.epochs * self.batches_of(position)
        return min(length for length in (by_epochs, self.steps) if length is not None)

    def epochs_of(self, position: int) -> int:
        """Epochs of the task at that position, including an incomplete last one."""
        return -(-self.steps_of(position) // self.batches_of(position))

    def steps_before(self, position: int) -> int:
        """Steps of all tasks before that position."""
        return self.total_before(position, self.steps_of)

    def epochs_before(self, position: int) -> int:
        """Epochs of all tasks before that position, including an incomplete last one of each."""
        return self.total_before(position, self.epochs_of)

    def total_before(self, position: int, of: Callable[[int], int]) -> int:
        """The sum of `of` over all tasks before that position. `of` may depend only on a task's number of images."""
        whole, rest = divmod(position, len(self.task_images))
        each = [of(earlier) for earlier in range(len(self.task_images))]
        return whole * sum(each) + sum(each[:rest])

    @property
    def total_steps(self) -> int:
        """Steps of a whole run."""
        return self.steps_before(self.tasks)

    @property
    def total_epochs(self) -> int:
        """Epochs of a whole run."""
        return self.epochs_before(self.tasks)

    def chosen(self, image_set: ImageSet, seed: int, position: int | None = None) -> NDArray[np.int64]:
        """The training images of a run's task, (N,). The same for all tasks, unless each has its own subset.

        Raises ConfigError if the set has fewer images, or if each task has its own subset and `position` is None.
        """
        there = len(image_set.train_labels)
        if self.images > there:
            raise ConfigError(f"benchmark.images is {self.images}; {image_set.name} has {there} training images.")
        if self.subset == "first":
            return np.arange(self.images)
        if position is None and self.subset == "each_task":
            raise ConfigError(
                "benchmark.subset is 'each_task', and this benchmark has one subset for all tasks; it must be one of "
                "first, shared, drawn."
            )
        if self.subset == "each_task":
            return self.drawn_subset(seed, position).permutation(there)[: self.images]
        return _drawn(self.subset_seed(seed), there, self.images)

    def drawn_subset(self, seed: int, position: int | None, *of: int | str) -> np.random.Generator:
        """The generator that draws the training images of task `position` in a run with that stream seed.

        of: distinguishes several draws of one task.
        """
        which = of if self.subset != "each_task" else (*of, "task", position)
        return host_stream(self.subset_seed(seed), "subset", *which)

    def subset_seed(self, seed: int) -> int:
        """The seed for drawing images in a run with that stream seed."""
        return 0 if self.subset == "shared" else seed

    def first_held_out(self, there: int) -> NDArray[np.int64]:
        """The indices of the evaluated images among `there` held-out images: all, or the first `eval_images`."""
        return np.arange(there if self.eval_images is None else min(self.eval_images, there))

    def order_of(self, labels: NDArray[np.int64], seed: int, position: int, epoch: int) -> NDArray[np.int64]:
        """The order of the task's images in its epoch `epoch`: a permutation of 0 … N − 1."""
        if self.order == "shuffle":
            return host_stream(seed, "order", position, epoch).permutation(len(labels))
        if self.order == "class_blocks":
            return np.argsort(labels, kind="stable")
        return np.arange(len(labels))


@lru_cache(maxsize=128)
def _drawn(seed: int, there: int, images: int) -> NDArray[np.int64]:
    """The training images of all tasks of a run, out of `there` images. Cached, because each task requests them."""
    found = host_stream(seed, "subset").permutation(there)[:images].copy()
    found.flags.writeable = False
    return found
