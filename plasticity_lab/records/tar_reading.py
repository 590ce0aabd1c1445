"""Read a tar file that can come from anybody: sizes in it are not believed, and each fault is one sentence."""

import contextlib
import gzip
import struct
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from plasticity_lab.errors import StoreError

PIECE = 1 << 20
"""Bytes that are read at once; a header of tar that asks for more is refused."""
UNREADABLE = (
    OSError,
    EOFError,
    zlib.error,
    struct.error,
    tarfile.TarError,
    ValueError,
    OverflowError,
    RecursionError,
    MemoryError,
)
"""The errors of tarfile, gzip and json for files that are damaged, or made to harm."""


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tarfile.TarFile]:
    """The archive, by its content plain tar or gzip, as `export` writes it.  Raises StoreError."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
            zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            content = _InPieces(stack.enter_context(gzip.GzipFile(fileobj=file)) if zipped else file)
            archive = stack.enter_context(tarfile.open(fileobj=content, mode="r:"))  # type: ignore[call-overload]
        except UNREADABLE as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise StoreError(f"Cannot read {path}: {error.strerror or error}.") from error
            raise no_archive(path) from error
        yield archive


class _InPieces:
    """A file that refuses to read more at once than `PIECE`: headers of tar state sizes, and can lie."""

    def __init__(self, file: BinaryIO | gzip.GzipFile) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        """As a file's.  Raises ValueError for too large a piece."""
        if not 0 <= size <= PIECE:
            raise ValueError(f"a header of {size} bytes")
        return self._file.read(size)


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Errors of reading become one sentence.  Raises StoreError."""
    try:
        yield
    except UNREADABLE as error:
        raise StoreError(f"{path} breaks off, or is damaged; get another copy.") from error


def pieces(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    """The content of a file of the archive.  Raises EOFError if it breaks off."""
    file, left = archive.extractfile(member), member.size
    while file is not None and left:
        piece = file.read(min(PIECE, left))
        if not piece:
            raise EOFError
        left -= len(piece)
        yield piece


def no_archive(path: Path) -> StoreError:
    """The sentence for a file that is no archive of ours."""
    return StoreError(f"{path} is no archive of a store; `python -m launch export` writes them.")
