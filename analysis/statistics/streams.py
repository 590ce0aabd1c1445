"""Random numbers of the statistics: functions of a seed and a name alone, as all numbers of the laboratory are."""

import hashlib

import numpy as np


def keyed(seed: int, *name: int | str) -> np.random.Generator:
    """The generator that stands for a seed and a name, always begun anew: equal arguments give equal numbers.

    Philox (Salmon et al. 2011) keyed with a hash of them. `plasticity_lab.randomness` does the same for runs; analysis
    reads records and imports nothing that makes them.
    """
    words = "/".join(["analysis", str(int(seed)), *map(str, name)])
    key = int.from_bytes(hashlib.blake2b(words.encode(), digest_size=16).digest(), "little")
    return np.random.Generator(np.random.Philox(key=key))
