"""MNIST from its published files, in the folder layout that torchvision reads too: <folder>/MNIST/raw/.

The format is IDX. Its header has two zero bytes, a byte for the element type, a byte for the number of dimensions, and
four big-endian bytes for each dimension. The bytes of one array follow.  Source: http://yann.lecun.com/exdb/mnist/.
"""

import contextlib
import gzip
import hashlib
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plasticity_lab.data.download import Archive, download
from plasticity_lab.data.folder import ImageSetFiles
from plasticity_lab.data.image_set import ImageSet, Source
from plasticity_lab.errors import DataError

SUBFOLDER = "MNIST/raw"
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "http://yann.lecun.com/exdb/mnist/",
)
GZIP_START = b"\x1f\x8b"
UNSIGNED_BYTE = 0x08


@dataclass(frozen=True)
class IdxFile:
    """One of the four files: its unpacked name, the md5 of its unpacked bytes, and the md5 of the published .gz.

    On disk the unpacked bytes are checked, because the same file can be gzipped in more than one way.
    """

    name: str
    md5: str
    archive_md5: str

    @property
    def archive(self) -> Archive:
        """The file to download."""
        return Archive(f"{self.name}.gz", self.archive_md5)


FILES = (
    IdxFile("train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    IdxFile("train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624", "d53e105ee54ea40749a09fcbcd1e9432"),
    IdxFile("t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea", "9fb629c4189551a2d022fa330f9573f3"),
    IdxFile("t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637", "ec29112dd5afa0611ce80d1b7f02629c"),
)
"""Training images and labels, then test images and labels."""


def load(folder: Path, files: Sequence[IdxFile] = FILES) -> ImageSet:
    """60,000 training and 10,000 test images, 1×28×28, pixels 0..255.  Source: LeCun et al. 1998.

    files: four, in the order of FILES.  Raises DataError if a file is missing, truncated, or not the published one.
    """
    train_images, train_labels, test_images, test_labels = (_read(folder, file) for file in files)
    return ImageSet(
        "mnist",
        train_images[:, None],
        train_labels.astype(np.int64),
        test_images[:, None],
        test_labels.astype(np.int64),
        classes=10,
        white=255,
    )


def fetch(folder: Path, files: Sequence[IdxFile] = FILES, mirrors: Sequence[str] = MIRRORS) -> None:
    """Downloads the files that are missing or damaged.  Raises DataError if that fails."""
    missing = []
    for file in files:
        try:
            _read(folder, file)
        except DataError:
            missing.append(file.archive)
    download(missing, mirrors, folder / SUBFOLDER)


SOURCES = {
    "mnist": Source(
        load,
        checked="md5 of all four files as published",
        fetch=fetch,
        subfolder=SUBFOLDER,
        outline=lambda: ImageSet.blank("mnist", 60_000, 10_000, image=(1, 28, 28), classes=10),
    )
}


def _read(folder: Path, file: IdxFile) -> np.ndarray:
    """The array of the unpacked file, or of the .gz if the unpacked file is missing or damaged."""
    files = ImageSetFiles("mnist", "MNIST", folder, SUBFOLDER)
    paths = [files.path(name) for name in (file.name, file.archive.name) if files.holds(name)]
    if not paths:
        raise files.missing(f"{file.name}[.gz]")
    for path in paths[:-1]:
        with contextlib.suppress(DataError):
            return _verified(path, file.md5, files)
    return _verified(paths[-1], file.md5, files)


def _verified(path: Path, md5: str, files: ImageSetFiles) -> np.ndarray:
    try:
        content = unpacked_bytes(path, files.remedy)
    except OSError as error:
        raise files.unreadable(path, error) from error
    array = parse_idx(content, path, files.remedy)
    if hashlib.md5(content, usedforsecurity=False).hexdigest() != md5:
        raise DataError(f"{path} is not the published file (its md5 differs): {files.remedy}.")
    return array


def unpacked_bytes(path: Path, remedy: str) -> bytes:
    """The content of a file, unzipped if its content is gzip; its name does not count: some browsers unzip silently.

    Raises DataError, ending in the remedy, if its compressed data is damaged; OSError if the file cannot be read.
    """
    content = path.read_bytes()
    try:
        return gzip.decompress(content) if content.startswith(GZIP_START) else content
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is truncated or damaged: {remedy}.") from error


def parse_idx(content: bytes, path: Path, remedy: str) -> np.ndarray:
    """The array of an IDX file of bytes: uint8, writable, in the shape that its header states.

    Raises DataError, naming `path` and ending in the remedy, if it is another kind of file or has another length than
    its header states.
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != UNSIGNED_BYTE or content[3] == 0:
        raise DataError(f"{path} is not an IDX file of bytes (it begins with '{content[:4].hex(' ')}'): {remedy}.")
    header = 4 + 4 * content[3]
    if len(content) < header:
        raise DataError(f"{path} is truncated in its header: {remedy}.")
    shape = struct.unpack(f">{content[3]}I", content[4:header])
    if len(content) != header + math.prod(shape):
        raise DataError(
            f"{path} is truncated or damaged: it holds {len(content):,} bytes, and its header "
            f"promises {header + math.prod(shape):,}: {remedy}."
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape).copy()
