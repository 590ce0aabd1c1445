"""Numbers drawn on the host: a NumPy generator for each (seed, purpose, position)."""

import hashlib

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import DTypeLike, NDArray


def host_stream(seed: int, purpose: str, *position: int | str) -> np.random.Generator:
    """The generator of one purpose at one position, always new: equal arguments give equal numbers.

    Philox (Salmon et al. 2011) keyed with a hash of the arguments, so that no two streams overlap in practice.
    """
    key = _Key(stream_key(seed, purpose, *position))
    return np.random.Generator(np.random.Philox(key))  # type: ignore[arg-type] (its stubs name only one subclass)


def stream_key(seed: int, purpose: str, *position: int | str) -> int:
    """A hash of (seed, purpose, position), 128 bits."""
    name = "/".join([str(int(seed)), purpose, *map(str, position)])
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=16).digest(), "little")


class _Key(ISeedSequence):
    """A key of 128 bits, as a seed that NumPy's generators accept.

    `Philox(key=...)` makes the same generator in three times the time, because it also asks the system for entropy.
    """

    def __init__(self, key: int) -> None:
        self.key = key

    def generate_state(self, n_words: int, dtype: DTypeLike = np.uint64) -> NDArray[np.uint64]:
        """The key in two words, the lower one first. Philox makes only this call."""
        return np.frombuffer(self.key.to_bytes(16, "little"), np.dtype("<u8"))
