"""CIFAR-100 and CIFAR-10 from their binary archives: files of records, a byte for each label and then the pixels.

A record is <coarse label><fine label><3,072 pixels> in CIFAR-100 and <label><3,072 pixels> in CIFAR-10; the pixels are
the red, green and blue 32×32 planes in turn. Source: Krizhevsky 2009, https://www.cs.toronto.edu/~kriz/cifar.html.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.data.download import Archive, download
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.data.image_set_files import ImageSetFiles
from plasticity_lab.data.unpack import unpack
from plasticity_lab.errors import DataError

MIRRORS = ("https://www.cs.toronto.edu/~kriz/",)
IMAGE = (3, 32, 32)
PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class Published:
    """A set as it is published.

    name, title: what commands and sentences call it. subfolder: the archive's folder, which holds the files `train` (a
    set with fewer of these is a part) and `test`. train_images, test_images: how many images these hold. labels: the
    number of classes of each label byte of a record; the last one is what is learned.
    """

    name: str
    title: str
    archive: Archive
    subfolder: str
    train: tuple[str, ...]
    test: str
    train_images: int
    test_images: int
    labels: tuple[int, ...]


CIFAR100 = Published(
    name="cifar100",
    title="CIFAR-100",
    archive=Archive("cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"),
    subfolder="cifar-100-binary",
    train=("train.bin",),
    test="test.bin",
    train_images=50_000,
    test_images=10_000,
    labels=(20, 100),
)
CIFAR10 = Published(
    name="cifar10",
    title="CIFAR-10",
    archive=Archive("cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),
    subfolder="cifar-10-batches-bin",
    train=tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
    test="test_batch.bin",
    train_images=50_000,
    test_images=10_000,
    labels=(10,),
)


def load(published: Published, folder: Path) -> ImageSet:
    """The set out of the folder of data sets, 3×32×32, pixels 0..255; of CIFAR-100 the fine labels.

    `part` where there are not as many images as were published: training files may be missing, or shorter.

    Raises DataError if the test file or every training file is missing, or a file is not made of right records.
    """
    files = ImageSetFiles(published.name, published.title, folder, published.subfolder)
    train = [name for name in published.train if files.holds(name)]
    train_images, train_labels = _read(published, files, train or published.train[:1])
    test_images, test_labels = _read(published, files, [published.test])
    counts = len(train_labels), len(test_labels)
    return ImageSet.of(
        published.name,
        train=(train_images, train_labels),
        test=(test_images, test_labels),
        classes=published.labels[-1],
        white=255,
        part=counts != (published.train_images, published.test_images),
    )


def outline(published: Published) -> ImageSet:
    """Black images in the number and shape of the set's."""
    counts = published.train_images, published.test_images
    return ImageSet.blank(published.name, *counts, image=IMAGE, classes=published.labels[-1])


def fetch(published: Published, folder: Path, mirrors: Sequence[str] = MIRRORS) -> None:
    """Download and unpack the archive unless the whole set is there.  Raises DataError if that fails.

    An archive that was already in the folder is used, and stays; one that was downloaded is removed when unpacked.
    """
    if _is_whole(published, folder):
        return
    archive = folder / published.archive.name
    own = archive.exists()
    download([published.archive], mirrors, folder)
    unpack(archive, [f"{published.subfolder}/{name}" for name in (*published.train, published.test)], folder)
    if not own:
        archive.unlink()


def _is_whole(published: Published, folder: Path) -> bool:
    try:
        return not load(published, folder).part
    except DataError:
        return False


def _read(
    published: Published, files: ImageSetFiles, names: Sequence[str]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (N, 3, 32, 32) and labels (N,) of some files, one after another.

    The files are read into one array, of which the images are a view, label bytes in between and all: 154 MB are
    nowhere copied to leave out 0.1 MB.
    """
    reader = _Reader(published, files)
    paths = [files.folder / published.subfolder / name for name in names]
    ends = np.cumsum([0, *map(reader.count, paths)])
    records = np.empty((ends[-1], reader.length), np.uint8)
    for path, start, end in zip(paths, ends[:-1], ends[1:], strict=True):
        reader.read(path, records[start:end])
    labels = len(published.labels)
    return records[:, labels:].reshape(-1, *IMAGE), records[:, labels - 1].astype(np.int64)


class _Reader:
    """Reads files of records and checks their length and their labels; raises DataError with the way out."""

    def __init__(self, published: Published, files: ImageSetFiles) -> None:
        self.published, self.files = published, files
        self.length = len(published.labels) + PIXELS

    def count(self, path: Path) -> int:
        """How many records a file holds."""
        if not self.files.holds(path.name):
            raise self.files.missing(path.name)
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise self.files.unreadable(path, error) from error
        if not size or size % self.length:
            raise DataError(
                f"{path} is truncated or damaged: {self.published.title} has records of {self.length:,} bytes, "
                f"and its {size:,} bytes are not a whole number of them: {self.files.remedy}."
            )
        return size // self.length

    def read(self, path: Path, records: NDArray[np.uint8]) -> None:
        """Fills the records, (N, length), from a file."""
        try:
            with path.open("rb") as file:
                file.readinto(records)
        except OSError as error:
            raise self.files.unreadable(path, error) from error
        labels = self.published.labels
        for largest, classes in zip(records[:, : len(labels)].max(axis=0), labels, strict=True):
            if largest >= classes:
                raise DataError(
                    f"{path} is damaged or of another set: it has the label {largest} where {self.published.title} "
                    f"has 0..{classes - 1}: {self.files.remedy}."
                )
