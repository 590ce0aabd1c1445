"""Whether a replay memory holds its frames compressed. Its numbers are the same either way."""

from math import prod

import numpy as np

from plasticity_lab.environments.body import Body
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.packed_entries import BLOCK
from plasticity_lab.records.packing import INSTALL, is_installed

LARGE_FRAME, LARGE_MEMORY = 2**11, 2**28
"""`auto` compresses frames of at least this many bytes, if all frames of a run have at least that many bytes."""


def packs(setting: str, body: Body, steps: int) -> bool:
    """Whether the frames of a run's memory are held compressed.

    setting: `replay_memory_compressed`, "auto", "always" or "never". "auto" compresses if frame and memory are large,
    the share of this body's frames is known, and the package for it is installed. steps: number of steps in the memory.
    Raises ConfigError if the setting is "always", and the package is missing.
    """
    if setting == "always" and not is_installed():
        raise ConfigError(f"replay_memory_compressed=always needs zstandard, which is not installed: {INSTALL}.")
    if setting != "auto":
        return setting == "always"
    return would_pack(body, steps) and is_installed()


def would_pack(body: Body, steps: int) -> bool:
    """Whether `auto` compresses them if the package for it is installed."""
    frame = bytes_of_frame(body)
    return body.packs_to is not None and frame >= LARGE_FRAME and frame * steps >= LARGE_MEMORY


def bytes_of_frame(body: Body) -> int:
    """Bytes of a frame, not compressed."""
    return prod(body.frame) * np.dtype(body.dtype).itemsize


def packed_bytes(body: Body) -> int:
    """The most bytes of a compressed frame, as measured for this body; as many as uncompressed if it was not."""
    return round(bytes_of_frame(body) * (1.0 if body.packs_to is None else body.packs_to))


def unpacked_bytes(body: Body, batch: int) -> int:
    """The most bytes of the blocks that are kept unpacked for a batch and the observations after it."""
    return 2 * batch * BLOCK * bytes_of_frame(body)
