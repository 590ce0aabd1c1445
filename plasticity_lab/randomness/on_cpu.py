"""The numbers of `device.uniforms` by NumPy: the same bits in a fraction of the time that tensors take eagerly.

What is saved: masks (unsigned words need fewer), the way through torch's dispatcher for some 150 operations, and, where
there are many numbers, the way to memory.

Legend: K runs, G of them at a time, E elements of one run, L lanes (four elements each).
"""

import numpy as np
from numpy.typing import NDArray

BLOCK = 8192
"""Lanes at a time, so that what a round reads and writes stays in the cache."""
WORD, SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)

Words = NDArray[np.uint64]
Pair = tuple[int, int]


def uniforms(
    key_K2: NDArray[np.int64], step: int, elements: int, rounds: int, multipliers: Pair, weyl: Pair
) -> NDArray[np.float32]:
    """(K, E); see `device.uniforms`, which says the constants."""
    runs, lanes = len(key_K2), (elements + 3) // 4
    found = np.empty((runs, 4, lanes), np.float32)
    at = np.arange(rounds, dtype=np.uint64).reshape(-1, 1, 1, 1)
    keys = (key_K2.astype(np.uint64)[..., None] + at * np.array(weyl, np.uint64)[:, None]) & WORD  # (rounds, K, 2, 1)
    group = max(1, BLOCK // max(1, lanes))
    for first in range(0, runs, group):
        own = keys[:, first : first + group]
        for begin in range(0, lanes, BLOCK):
            lane = np.arange(begin, min(lanes, begin + BLOCK), dtype=np.uint64)
            for row, word in enumerate(_philox(lane, step, own, multipliers)):
                word >>= np.uint64(8)
                into = found[first : first + group, row, begin : begin + len(lane)]
                np.multiply(word.astype(np.float32), np.float32(2.0**-24), out=into)
    return found.reshape(runs, 4 * lanes)[:, :elements]


def _philox(lane_L: Words, step: int, keys: Words, multipliers: Pair) -> tuple[Words, Words, Words, Words]:
    """`device.philox` of these lanes at a step, (G, L) each.  keys (rounds, G, 2, 1)."""
    by0, by1 = (np.uint64(each) for each in multipliers)
    shape = (keys.shape[1], len(lane_L))
    c0, c1 = np.broadcast_to(lane_L, shape), np.zeros(shape, np.uint64)
    c2, c3 = (np.full(shape, step >> shift & 0xFFFFFFFF, np.uint64) for shift in (0, 32))
    for key in keys:
        p0, p1 = c0 * by0, c2 * by1
        c1 ^= key[:, 0]
        c1 ^= p1 >> SHIFT
        c3 ^= key[:, 1]
        c3 ^= p0 >> SHIFT
        p0 &= WORD
        p1 &= WORD
        c0, c1, c2, c3 = c1, p1, c3, p0
    return c0, c1, c2, c3
