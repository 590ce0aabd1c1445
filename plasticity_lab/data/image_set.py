"""An image set in memory, and the functions that read it from files.

Legend: N images, C channels, H rows, W columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from plasticity_lab.errors import DataError


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Labelled images, split as published, in the order of their files.

    name: the name that selects it.
    train_images, test_images: uint8 (N, C, H, W); pixel values 0..white.
    train_labels, test_labels: int64 (N,); values 0..classes-1.
    classes: the number of classes.
    white: the pixel value that becomes 1.0.
    part: True if the set is only a part of the published one.
    known_moments: mean and std of the channels, if they need not be measured.

    Raises DataError if the arrays do not fit together.
    """

    name: str
    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    classes: int
    white: int
    part: bool = False
    known_moments: tuple[np.ndarray, np.ndarray] | None = None

    @cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation (by the count) of each channel's training pixels after division by white.

        float32 (C,) twice, measured at the first access: few runs standardise.
        """
        return self.known_moments or channel_moments(self.train_images, self.white)

    @property
    def packages(self) -> Sequence[str]:
        """The Python packages with versions that may change numbers: none."""
        return ()

    @property
    def facts(self) -> dict[str, str | bool]:
        """The entries about the set in a record's provenance."""
        return {"data": self.name, "data_part": self.part}

    @classmethod
    def blank(
        cls, name: str, train: int, test: int, *, image: tuple[int, int, int], classes: int, white: int = 255
    ) -> Self:
        """Black images (C, H, W) with the classes in turn: enough to plan runs on a set that is not downloaded yet.

        train, test: the number of images. The images take no memory and are read-only.
        """
        images = [np.broadcast_to(np.uint8(0), (count, *image)) for count in (train, test)]
        labels = [np.arange(count, dtype=np.int64) % classes for count in (train, test)]
        moments = np.zeros(image[0], np.float32), np.ones(image[0], np.float32)
        return cls(name, images[0], labels[0], images[1], labels[1], classes, white, known_moments=moments)

    @cached_property
    def train_by_class(self) -> list[np.ndarray]:
        """The training images of each class, in the order of the file."""
        return _by_class(self.train_labels, self.classes)

    @cached_property
    def test_by_class(self) -> list[np.ndarray]:
        """The test images of each class, in the order of the file."""
        return _by_class(self.test_labels, self.classes)

    def __post_init__(self) -> None:
        for split, images, labels in (
            ("training", self.train_images, self.train_labels),
            ("test", self.test_images, self.test_labels),
        ):
            if images.dtype != np.uint8 or images.ndim != 4 or not images.size:
                self._refuse(f"its {split} images are {images.dtype} {images.shape}, not uint8 (N, C, H, W)")
            if labels.dtype != np.int64 or labels.shape != images.shape[:1]:
                self._refuse(f"its {split} labels are {labels.dtype} {labels.shape}, not int64 ({len(images)},)")
            if labels.min() < 0 or labels.max() >= self.classes:
                self._refuse(f"its {split} labels are not all within 0..{self.classes - 1}")
            if self.white < np.iinfo(images.dtype).max and images.max() > self.white:  # large sets are not read for it
                self._refuse(f"its {split} images have pixels above white, {self.white}")
        train, test = self.train_images.shape[1:], self.test_images.shape[1:]
        if train != test:
            self._refuse(f"its images are {train} in training, {test} in test")

    def _refuse(self, reason: str) -> None:
        raise DataError(f"The image set '{self.name}' does not fit together: {reason}.")


@dataclass(frozen=True)
class Source:
    """The functions of one image set.

    load: reads it from the folder of data sets; raises DataError if it is missing or damaged.
    checked: the checks of `load`, in words.
    fetch: downloads missing files into the folder of data sets, or prepares them; None if a package ships the set.
    subfolder: the folder of its files in the folder of data sets.
    outline: black images in the number and shape of the published ones, so that runs can be planned before the set is
    downloaded; None if a package ships the set.
    """

    load: Callable[[Path], ImageSet]
    checked: str
    fetch: Callable[[Path], None] | None = None
    subfolder: str = ""
    outline: Callable[[], ImageSet] | None = None


def _by_class(labels: np.ndarray, classes: int) -> list[np.ndarray]:
    ends = np.cumsum(np.bincount(labels, minlength=classes))[:-1]
    return np.split(np.argsort(labels, kind="stable"), ends)


def channel_moments(images: np.ndarray, white: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each channel after division by white: uint8 (N, C, H, W) → float32 (C,) twice.

    Counted by pixel value, a thousand images at a time: exact, the same on every machine, and without a float copy.
    """
    blocks = np.array_split(images, -(-len(images) // 1000) or 1)
    moments = []
    for channel in range(images.shape[1]):
        counts = sum(np.bincount(block[:, channel].ravel(), minlength=256) for block in blocks)
        values, shares = np.arange(256) / white, counts / counts.sum()
        mean = values @ shares
        moments.append((mean, np.sqrt((values - mean) ** 2 @ shares)))
    mean, std = np.array(moments, dtype=np.float32).T
    return mean, std
