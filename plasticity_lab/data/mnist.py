"""MNIST, read from the published files in the layout that torchvision understands too: <folder>/MNIST/raw/."""

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plasticity_lab.data.download import Archive, download
from plasticity_lab.data.idx import parse_idx, unpacked_bytes
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.data.image_set_files import ImageSetFiles
from plasticity_lab.errors import DataError

SUBFOLDER = "MNIST/raw"
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "http://yann.lecun.com/exdb/mnist/",
)


@dataclass(frozen=True)
class IdxFile:
    """One of the four files: its unpacked name, the md5 of its unpacked bytes, and that of the published .gz.

    On disk the unpacked bytes are checked, because the same file can be gzipped in more than one way.
    """

    name: str
    md5: str
    archive_md5: str

    @property
    def archive(self) -> Archive:
        """What is downloaded."""
        return Archive(f"{self.name}.gz", self.archive_md5)


@dataclass(frozen=True)
class Files:
    """The four files of MNIST, or of a set published in the same way."""

    train_images: IdxFile
    train_labels: IdxFile
    test_images: IdxFile
    test_labels: IdxFile

    def all(self) -> tuple[IdxFile, ...]:
        """All four, in the order they are fetched."""
        return self.train_images, self.train_labels, self.test_images, self.test_labels


FILES = Files(
    IdxFile("train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    IdxFile("train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624", "d53e105ee54ea40749a09fcbcd1e9432"),
    IdxFile("t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea", "9fb629c4189551a2d022fa330f9573f3"),
    IdxFile("t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637", "ec29112dd5afa0611ce80d1b7f02629c"),
)


def load(folder: Path, files: Files = FILES) -> ImageSet:
    """60,000 training and 10,000 test images, 1×28×28, pixels 0..255.  Source: LeCun et al. 1998.

    Raises DataError if a file is missing, truncated, or not the published one.
    """
    return ImageSet.of(
        "mnist",
        train=(_read(folder, files.train_images)[:, None], _read(folder, files.train_labels).astype(np.int64)),
        test=(_read(folder, files.test_images)[:, None], _read(folder, files.test_labels).astype(np.int64)),
        classes=10,
        white=255,
    )


def outline() -> ImageSet:
    """Black images in the number and shape of MNIST's."""
    return ImageSet.blank("mnist", 60_000, 10_000, image=(1, 28, 28), classes=10)


def fetch(folder: Path, files: Files = FILES, mirrors: Sequence[str] = MIRRORS) -> None:
    """Download the files that are not there, or not right.  Raises DataError if that fails."""
    missing = [file.archive for file in files.all() if not _is_right(folder, file)]
    download(missing, mirrors, folder / SUBFOLDER)


def _is_right(folder: Path, file: IdxFile) -> bool:
    try:
        _read(folder, file)
    except DataError:
        return False
    return True


def _read(folder: Path, file: IdxFile) -> np.ndarray:
    """The array of the first right one of the unpacked file and the .gz, so that a fresh .gz makes up for the other."""
    files = ImageSetFiles("mnist", "MNIST", folder, SUBFOLDER)
    there = [folder / SUBFOLDER / name for name in (file.name, file.archive.name) if files.holds(name)]
    if not there:
        raise files.missing(f"{file.name}[.gz]")
    for path in there[:-1]:
        with contextlib.suppress(DataError):
            return _verified(path, file.md5, files)
    return _verified(there[-1], file.md5, files)


def _verified(path: Path, md5: str, files: ImageSetFiles) -> np.ndarray:
    try:
        content = unpacked_bytes(path, files.remedy)
    except OSError as error:
        raise files.unreadable(path, error) from error
    array = parse_idx(content, path, files.remedy)
    if hashlib.md5(content, usedforsecurity=False).hexdigest() != md5:
        raise DataError(f"{path} is not the published file (its md5 differs): {files.remedy}.")
    return array
