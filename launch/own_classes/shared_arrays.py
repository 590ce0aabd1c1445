"""The arrays that all runs and packs of a process share: their content, and protection from writing."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

WRITES = "the images that all runs and packs share; change a copy of them"
MOST_BYTES = 2**26


def content_of(resource: Any) -> dict[str, int]:
    """Name → checksum of the arrays that all runs and packs of a process share; large arrays are sampled by rows."""
    arrays = _arrays_of(resource)
    return {name: zlib.crc32(array[:: 1 + array.nbytes // MOST_BYTES].tobytes()) for name, array in arrays.items()}


@contextmanager
def read_only(resource: Any) -> Iterator[None]:
    """While this lasts, NumPy refuses to write into these arrays."""
    arrays = [array for array in _arrays_of(resource).values() if array.flags.writeable]
    for array in arrays:
        array.flags.writeable = False
    try:
        yield
    finally:
        for array in arrays:
            array.flags.writeable = True


def _arrays_of(resource: Any) -> dict[str, np.ndarray]:
    values = getattr(resource, "__dict__", {})
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray) and value.ndim}
