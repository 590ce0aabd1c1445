"""CIFAR-100 and CIFAR-10 from their binary archives: files of records, a byte for each label and then the pixels.

A record is <coarse label><fine label><3,072 pixels> in CIFAR-100 and <label><3,072 pixels> in CIFAR-10; the pixels are
the red, green and blue 32×32 planes in turn. Source: Krizhevsky 2009, https://www.cs.toronto.edu/~kriz/cifar.html.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.data.download import Archive, download, unpack
from plasticity_lab.data.folder import ImageSetFiles
from plasticity_lab.data.image_set import ImageSet, Source
from plasticity_lab.errors import DataError

MIRRORS = ("https://www.cs.toronto.edu/~kriz/",)
IMAGE = (3, 32, 32)
PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class Published:
    """A set as it is published.

    name, title: its name in commands and in messages. subfolder: the archive's folder, which holds the files `train` (a
    set with fewer of these is a part) and `test`. labels: the number of classes of each label byte of a record; the
    last one is learned. train_images, test_images: the number of images.
    """

    name: str
    title: str
    archive: Archive
    subfolder: str
    train: tuple[str, ...]
    test: str
    labels: tuple[int, ...]
    train_images: int = 50_000
    test_images: int = 10_000


CIFAR100 = Published(
    name="cifar100",
    title="CIFAR-100",
    archive=Archive("cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"),
    subfolder="cifar-100-binary",
    train=("train.bin",),
    test="test.bin",
    labels=(20, 100),
)
CIFAR10 = Published(
    name="cifar10",
    title="CIFAR-10",
    archive=Archive("cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),
    subfolder="cifar-10-batches-bin",
    train=tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
    test="test_batch.bin",
    labels=(10,),
)


def load(published: Published, folder: Path) -> ImageSet:
    """The set from the folder of data sets, 3×32×32, pixels 0..255; for CIFAR-100 the fine labels.

    `part` if there are fewer images than published: training files may be missing, or shorter.

    Raises DataError if the test file or every training file is missing, or a file does not consist of valid records.
    """
    files = ImageSetFiles(published.name, published.title, folder, published.subfolder)
    train = [name for name in published.train if files.holds(name)]
    train_images, train_labels = _read(published, files, train or published.train[:1])
    test_images, test_labels = _read(published, files, [published.test])
    return ImageSet(
        published.name,
        train_images,
        train_labels,
        test_images,
        test_labels,
        classes=published.labels[-1],
        white=255,
        part=(len(train_labels), len(test_labels)) != (published.train_images, published.test_images),
    )


def outline(published: Published) -> ImageSet:
    """Black images, in the number and shape of the set."""
    counts = published.train_images, published.test_images
    return ImageSet.blank(published.name, *counts, image=IMAGE, classes=published.labels[-1])


def fetch(published: Published, folder: Path, mirrors: Sequence[str] = MIRRORS) -> None:
    """Downloads and unpacks the archive unless the folder has the whole set.  Raises DataError if that fails.

    An archive that was already in the folder is used and kept; a downloaded one is removed after unpacking.
    """
    try:
        if not load(published, folder).part:
            return
    except DataError:
        pass  # a file is missing or damaged: the archive has it
    archive = folder / published.archive.name
    kept = archive.exists()
    download([published.archive], mirrors, folder)
    unpack(archive, [f"{published.subfolder}/{name}" for name in (*published.train, published.test)], folder)
    if not kept:
        archive.unlink()


SOURCES = {
    published.name: Source(
        partial(load, published),
        checked="the length of all records and the range of their labels",
        fetch=partial(fetch, published),
        subfolder=published.subfolder,
        outline=partial(outline, published),
    )
    for published in (CIFAR10, CIFAR100)
}


def _read(
    published: Published, files: ImageSetFiles, names: Sequence[str]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (N, 3, 32, 32) and labels (N,) of some files, one after another.

    The images are a view that skips the label bytes: copying 154 MB to drop 0.1 MB is not worth it.  Raises DataError
    for a missing file, for one with another length, and for labels out of range.
    """
    labels = len(published.labels)
    length, parts = labels + PIXELS, []
    for name in names:
        path = files.path(name)
        if not files.holds(name):
            raise files.missing(name)
        try:
            content = np.frombuffer(bytearray(path.read_bytes()), np.uint8)  # a bytearray, so that it is writable
        except OSError as error:
            raise files.unreadable(path, error) from error
        if not content.size or content.size % length:
            raise DataError(
                f"{path} is truncated or damaged: {published.title} has records of {length:,} bytes, "
                f"and its {content.size:,} bytes are not a whole number of them: {files.remedy}."
            )
        parts.append(content.reshape(-1, length))
        for largest, classes in zip(parts[-1][:, :labels].max(axis=0), published.labels, strict=True):
            if largest >= classes:
                raise DataError(
                    f"{path} is damaged or of another set: it has the label {largest}, and the labels of "
                    f"{published.title} are 0..{classes - 1}: {files.remedy}."
                )
    records = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return records[:, labels:].reshape(-1, *IMAGE), records[:, labels - 1].astype(np.int64)
