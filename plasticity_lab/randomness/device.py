"""Numbers drawn on the device: Philox-4×32-10 in tensor arithmetic, a function of (run, step, element) alone.

Legend: K runs, L lanes (four elements each), E elements of one run.
Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; tests hold it to the published vectors.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.randomness import on_cpu
from plasticity_lab.randomness.host import stream_key

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
WORD = 0xFFFFFFFF
ROUNDS = 10


def run_keys(seeds: Sequence[int], purpose: str, device: torch.device | str = "cpu") -> Tensor:
    """Two 32-bit key words for each run, as (K, 2) int64.  A hash, so that near seeds have far keys."""
    words = [[(stream_key(seed, purpose) >> shift) & WORD for shift in (0, 32)] for seed in seeds]
    return torch.tensor(words, dtype=torch.int64, device=device)


def philox(key_K2: Tensor, counters: Sequence[Tensor | int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Four words of 32 random bits for each counter.  key (K, 2), counters four words broadcastable to (1, L) → (K, L).

    Words live in int64, whose product wraps modulo 2⁶⁴ as the algorithm wants it.
    """
    k0, k1 = key_K2[:, :1], key_K2[:, 1:]
    c0, c1, c2, c3 = counters
    for _ in range(ROUNDS):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1 = ((p1 >> 32) & WORD) ^ c1 ^ k0, p1 & WORD
        c2, c3 = ((p0 >> 32) & WORD) ^ c3 ^ k1, p0 & WORD
        k0, k1 = (k0 + WEYL[0]) & WORD, (k1 + WEYL[1]) & WORD
    return c0, c1, c2, c3


def uniforms(key_K2: Tensor, step: Tensor, elements: int) -> Tensor:
    """Numbers in [0, 1) on a grid of 2⁻²⁴, float32 (K, E).  step () int64, counted through the run.

    Four of the elements share a lane: the numbers are a function of E too, which all runs of a pack share.
    """
    if key_K2.device.type == "cpu" and not torch.compiler.is_compiling():
        keys = np.array(key_K2.tolist(), np.int64)  # a tensor shows no memory while gradients are traced
        found = on_cpu.uniforms(keys, int(step), elements, ROUNDS, MULTIPLIERS, WEYL)
        return torch.from_numpy(found)
    return _in_tensors(key_K2, step, elements)


def _in_tensors(key_K2: Tensor, step: Tensor, elements: int) -> Tensor:
    """`uniforms` where tensors are compiled, or lie on a GPU."""
    lanes = (elements + 3) // 4
    lane = torch.arange(lanes, device=key_K2.device).unsqueeze(0)
    if key_K2.device.type != "cpu":
        # 0 that a compiler does not know: for places alone, torch 2.11 takes 32 bits, which the products exceed.
        lane = lane + (key_K2[:1, :1] & 0)
    words = philox(key_K2, (lane, torch.zeros_like(lane), step & WORD, (step >> 32) & WORD))
    # Floats before they are put side by side: compiled, they take half the memory of the words.
    values = torch.stack([(word >> 8).to(torch.float32) * 2.0**-24 for word in words], dim=1)
    return values.reshape(key_K2.shape[0], 4 * lanes)[:, :elements]
