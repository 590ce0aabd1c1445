"""Reads the parts of a replay memory's log, with their checksum."""

import zlib
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class CutOff(Exception):
    """A part that ends too early."""


class Source:
    """Reads a part, with the checksum of all bytes so far."""

    def __init__(self, file: BinaryIO, crc32: int) -> None:
        self.file, self.crc32 = file, crc32

    def read(self, count: int) -> bytes:
        """The next bytes.  Raises CutOff."""
        found = self.file.read(count)
        if len(found) != count:
            raise CutOff
        self.crc32 = zlib.crc32(found, self.crc32)
        return found

    def read_into(self, rows: Array) -> None:
        """Fills rows.  Raises CutOff."""
        into = rows if rows.flags.c_contiguous else np.empty(rows.shape, rows.dtype)
        if self.file.readinto(flat(into).data) != into.nbytes:  # type: ignore[attr-defined]
            raise CutOff
        self.crc32 = zlib.crc32(flat(into).data, self.crc32)
        if into is not rows:
            rows[...] = into


def flat(values: Array) -> Array:
    """The bytes of a contiguous array."""
    return values.reshape(-1).view(np.uint8)
