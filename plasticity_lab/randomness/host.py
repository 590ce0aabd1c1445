"""Numbers drawn on the host: a NumPy generator for each (seed, purpose, position)."""

import hashlib

import numpy as np


def host_stream(seed: int, purpose: str, *position: int | str) -> np.random.Generator:
    """The generator of one purpose at one position, always new: equal arguments give equal numbers.

    Philox (Salmon et al. 2011) keyed with a hash of the arguments, so that no two streams overlap in practice.
    """
    return np.random.Generator(np.random.Philox(key=stream_key(seed, purpose, *position)))


def stream_key(seed: int, purpose: str, *position: int | str) -> int:
    """A hash of (seed, purpose, position), 128 bits."""
    name = "/".join([str(int(seed)), purpose, *map(str, position)])
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=16).digest(), "little")
