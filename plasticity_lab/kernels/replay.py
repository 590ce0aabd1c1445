"""Our kernel for replay memories, on NumPy arrays. `plasticity_lab/replay` has the same in NumPy, bit for bit.

Its arrays are contiguous. Legend: K runs, C blocks of 256 places, B requested steps, L rows of a ring, N environments.
"""

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from plasticity_lab.kernels import build, operators

Array = NDArray[Any]
Steps = NDArray[np.int64]
PART = "replay"


def expect() -> None:
    """Memories of this process use the kernel from now on, if this machine can compile it; begins to compile it."""
    if build.missing() is None:
        build.expect([PART])
        operators.define()


def is_used() -> bool:
    """Whether this process uses kernels, and this one can be compiled and loaded."""
    return operators.are_defined() and _is_loaded()


@cache
def _is_loaded() -> bool:
    try:
        build.load(PART)
    except build.KernelsMissing:  # the same bits by NumPy
        return False
    return True


def draw(keys: Sequence[int], values: Array, sums: Array, size: int) -> Steps:
    """As `Priorities.draw`, with the uniform numbers of new host streams with these keys: places (K, B).

    keys: K of `stream_key`. values (K, C, 256), sums (K, C).
    """
    places = np.empty((len(keys), size), np.int64)
    _call("priorities_drawn", _words(keys), values, sums, places)
    return places


def draw_uniformly(
    keys: Sequence[int], first: Array, terminated: Array, truncated: Array, life_lost: Array, life_ends: bool,
    oldest: int, end: int, n_step: int, stack: int, size: int,
) -> tuple[Steps, NDArray[np.bool_]]:  # fmt: skip
    """The numbers of `Generator.integers` of new host streams with these keys, and `NStep.usable` of them: (K, B) each.

    The flags (L, K, N) are the ring's. Numbers are below the steps that it holds, which must fit into 32 bits.
    """
    found = np.empty((len(keys), size), np.int64), np.empty((len(keys), size), np.bool_)
    flags = first, terminated, truncated, life_lost
    _call("uniform_drawn", _words(keys), *flags, life_ends, oldest, end, n_step, stack, *found)
    return found


def put(places: Steps, priorities: Array, values: Array, sums: Array) -> None:
    """As `Priorities.put`."""
    _call("priorities_put", places, priorities, values, sums)


def observations(frames: Array, first: Array, step: Steps, environment: Steps, stack: int, found: Array) -> None:
    """As `Ring.observations`: frames (L, K, N, ...), first (L, K, N), step and environment (K, B).

    found: (K, B, stack · frame), written.
    """
    bytes_of_frame = prod(frames.shape[3:]) * frames.itemsize
    in_bytes = found.reshape(-1).view(np.uint8).reshape(*step.shape, stack * bytes_of_frame)
    flat = frames.reshape(-1).view(np.uint8).reshape(*frames.shape[:3], bytes_of_frame)
    _call("stacked", flat, first, step, environment, stack, in_bytes)


def gather(blocks: Sequence[Array], counts: Array, rows: Steps, at: Steps, out: Array) -> None:
    """out[at[r]] = blocks[b][rows[r]] for R rows; the first counts[0] of them are rows of the first block, and so on.

    blocks: contiguous arrays (8, ...), which are only read. rows, at: (R,). out: (R, ...), contiguous.
    """
    of_row = prod(out.shape[1:]) * out.itemsize
    addresses = np.repeat([block.__array_interface__["data"][0] for block in blocks], counts) + rows * of_row
    _call("gathered", addresses, at, out.reshape(-1).view(np.uint8).reshape(len(out), of_row))


def returns(
    reward: Array, terminated: Array, life_lost: Array, life_ends: bool, step: Steps, environment: Steps,
    gamma: NDArray[np.float64], n_step: int,
) -> tuple[Array, Array, Steps]:  # fmt: skip
    """As `NStep.of`: returns, discounts and following steps, (K, B) each."""
    found = np.empty(step.shape, np.float32), np.empty(step.shape, np.float32), np.empty(step.shape, np.int64)
    _call("returns", reward, terminated, life_lost, life_ends, step, environment, gamma, n_step, *found)
    return found


def _words(keys: Sequence[int]) -> Array:
    """Keys of 128 bits as (K, 2)."""
    return np.array([(key & (2**64 - 1), key >> 64) for key in keys], np.uint64).view(np.int64)


def _call(name: str, *arguments: Any) -> None:
    """Calls an operator with arrays as tensors."""
    given = [_tensor(each) if isinstance(each, np.ndarray) else each for each in arguments]
    getattr(torch.ops.plasticity_lab, name)(*given)


def _tensor(array: Array) -> torch.Tensor:
    array = np.ascontiguousarray(array)
    return torch.from_numpy(array if array.flags.writeable else array.copy())
