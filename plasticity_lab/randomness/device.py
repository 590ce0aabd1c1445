"""Numbers drawn on the device: Philox-4×32-10, a function of (run, step, element) alone.

In compiled code and on a GPU it is tensor arithmetic; compiled code of a process with our kernels calls one of them. In
eager mode on a CPU it is NumPy: the same bits in a fraction of the time: fewer masks of unsigned words, no dispatch of
some 150 operations, and blocks that stay in the cache.

Legend: K runs, G of them at a time, L lanes (four elements each), E elements of one run.
Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; tests hold it to the published vectors.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.kernels import operators
from plasticity_lab.kernels.written_calls import call, declare
from plasticity_lab.randomness.host import stream_key

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
WORD = 0xFFFFFFFF
ROUNDS = 10
BLOCK = 8192
"""Lanes computed at a time by NumPy, so that the numbers of a round stay in the cache."""

Words = NDArray[np.uint64]


def run_keys(seeds: Sequence[int], purpose: str, device: torch.device | str = "cpu") -> Tensor:
    """Two 32-bit key words for each run, as (K, 2) int64: a hash, so that similar seeds have different keys."""
    words = [[(stream_key(seed, purpose) >> shift) & WORD for shift in (0, 32)] for seed in seeds]
    return torch.tensor(words, dtype=torch.int64, device=device)


def philox(key_K2: Tensor, counters: Sequence[Tensor | int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Four words of 32 random bits for each counter.  key (K, 2), counters four words broadcastable to (1, L) → (K, L).

    Words are stored as int64: their product wraps modulo 2⁶⁴, as the algorithm requires.
    """
    k0, k1 = key_K2[:, :1], key_K2[:, 1:]
    c0, c1, c2, c3 = counters
    for _ in range(ROUNDS):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1 = ((p1 >> 32) & WORD) ^ c1 ^ k0, p1 & WORD
        c2, c3 = ((p0 >> 32) & WORD) ^ c3 ^ k1, p0 & WORD
        k0, k1 = (k0 + WEYL[0]) & WORD, (k1 + WEYL[1]) & WORD
    return c0, c1, c2, c3


def _word(at: int) -> Callable[..., Tensor]:
    return lambda k0, k1, lane, low, high: philox(torch.cat([k0, k1], 1), (lane, torch.zeros_like(lane), low, high))[at]


for _at in range(4):
    declare(f"philox_{_at}", _word(_at), arguments=5)


def uniforms(key_K2: Tensor, step: Tensor, elements: int) -> Tensor:
    """Numbers in [0, 1) on a grid of 2⁻²⁴, float32 (K, E).  step () int64, counted through the run.

    Four elements share a lane, so the numbers depend on E too, which all runs of a pack share.
    """
    if key_K2.device.type == "cpu" and not torch.compiler.is_compiling():
        keys = np.array(key_K2.tolist(), np.int64)  # a tensor has no memory while gradients are traced
        return torch.from_numpy(_by_numpy(keys, int(step), elements))
    if operators.serve(key_K2):
        return torch.ops.plasticity_lab.uniforms(key_K2, step, elements)
    return _in_tensors(key_K2, step, elements)


def _in_tensors(key_K2: Tensor, step: Tensor, elements: int) -> Tensor:
    """`uniforms` in compiled code without our kernels, or on a GPU."""
    lanes = (elements + 3) // 4
    lane = torch.arange(lanes, device=key_K2.device).unsqueeze(0)
    k0, k1, low, high = key_K2[:, :1], key_K2[:, 1:], step & WORD, (step >> 32) & WORD
    if key_K2.device.type == "cpu":
        words = tuple(call(f"philox_{at}", k0, k1, lane, low, high) for at in range(4))
    else:
        # A 0 that the compiler cannot see: for constants torch 2.11 takes 32 bits, which the products exceed.
        lane = lane + (key_K2[:1, :1] & 0)
        words = philox(key_K2, (lane, torch.zeros_like(lane), low, high))
    # Converted before they are stacked: compiled, floats take half the memory of the words.
    values = torch.stack([(word >> 8).to(torch.float32) * 2.0**-24 for word in words], dim=1)
    return values.reshape(key_K2.shape[0], 4 * lanes)[:, :elements]


def _by_numpy(key_K2: NDArray[np.int64], step: int, elements: int) -> NDArray[np.float32]:
    """`uniforms` by NumPy, (K, E)."""
    runs, lanes = len(key_K2), (elements + 3) // 4
    values = np.empty((runs, 4, lanes), np.float32)
    at = np.arange(ROUNDS, dtype=np.uint64).reshape(-1, 1, 1, 1)
    weyl = np.array(WEYL, np.uint64)[:, None]
    keys = (key_K2.astype(np.uint64)[..., None] + at * weyl) & np.uint64(WORD)  # (rounds, K, 2, 1)
    group = max(1, BLOCK // max(1, lanes))
    for first in range(0, runs, group):
        for begin in range(0, lanes, BLOCK):
            lane = np.arange(begin, min(lanes, begin + BLOCK), dtype=np.uint64)
            for row, word in enumerate(_philox_by_numpy(lane, step, keys[:, first : first + group])):
                word >>= np.uint64(8)
                into = values[first : first + group, row, begin : begin + len(lane)]
                np.multiply(word.astype(np.float32), np.float32(2.0**-24), out=into)
    return values.reshape(runs, 4 * lanes)[:, :elements]


def _philox_by_numpy(lane_L: Words, step: int, keys: Words) -> tuple[Words, Words, Words, Words]:
    """`philox` of these lanes at a step, (G, L) each.  keys (rounds, G, 2, 1)."""
    by0, by1 = map(np.uint64, MULTIPLIERS)
    mask, half = np.uint64(WORD), np.uint64(32)
    shape = (keys.shape[1], len(lane_L))
    c0, c1 = np.broadcast_to(lane_L, shape), np.zeros(shape, np.uint64)
    c2, c3 = (np.full(shape, step >> shift & WORD, np.uint64) for shift in (0, 32))
    for key in keys:
        p0, p1 = c0 * by0, c2 * by1
        c1 ^= key[:, 0]
        c1 ^= p1 >> half
        c3 ^= key[:, 1]
        c3 ^= p0 >> half
        p0 &= mask
        p1 &= mask
        c0, c1, c2, c3 = c1, p1, c3, p0
    return c0, c1, c2, c3
