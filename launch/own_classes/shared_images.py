"""The images that all runs and packs of a process share: no class may write into them."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

TITLE = "shared images stay as they are"
WRITES = "the images that all runs and packs share; change a copy of them"
MOST_BYTES = 2**26


def content_of(resource: Any) -> dict[str, int]:
    """Name → checksum of the arrays that tasks are made of; a large array is sampled at evenly spaced rows."""
    return {
        name: zlib.crc32(value[:: 1 + value.nbytes // MOST_BYTES].tobytes())
        for name, value in _arrays_of(resource).items()
    }


@contextmanager
def read_only(resource: Any) -> Iterator[None]:
    """While this lasts, NumPy refuses to write into the arrays."""
    arrays = [value for value in _arrays_of(resource).values() if value.flags.writeable]
    for array in arrays:
        array.flags.writeable = False
    try:
        yield
    finally:
        for array in arrays:
            array.flags.writeable = True


def _arrays_of(resource: Any) -> dict[str, np.ndarray]:
    own = getattr(resource, "__dict__", {})
    return {name: value for name, value in own.items() if isinstance(value, np.ndarray) and value.ndim}
