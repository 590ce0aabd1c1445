"""Saved states of changing length, bytes for each environment, as arrays of fixed type that any checkpoint holds.

Legend: K runs, N environments of each.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BYTES, LENGTHS = ".bytes", ".lengths"
"""What the names of the two arrays end in."""


def in_arrays(name: str, states: Sequence[bytes], runs: int) -> dict[str, NDArray[np.generic]]:
    """States (M,) → "<name>.bytes", one after another, uint8; and "<name>.lengths", (K, N), in bytes."""
    lengths = np.array([len(state) for state in states], np.int64).reshape(runs, -1)
    return {f"{name}{BYTES}": np.frombuffer(b"".join(states), np.uint8).copy(), f"{name}{LENGTHS}": lengths}


def from_arrays(name: str, bytes_: NDArray[np.generic], lengths: NDArray[np.generic]) -> list[bytes]:
    """The states (M,) of what `in_arrays` gave.  Raises ValueError if the lengths are not those of the bytes."""
    sizes = [int(length) for length in lengths.flat]
    if min(sizes, default=0) < 0 or sum(sizes) != bytes_.size:
        raise ValueError(f"{name}{LENGTHS} adds up to {sum(sizes)}, and {name}{BYTES} holds {bytes_.size} bytes.")
    whole, ends = bytes_.astype(np.uint8).tobytes(), np.cumsum(sizes).tolist()
    return [whole[end - size : end] for end, size in zip(ends, sizes, strict=True)]
