"""Sums whose bits do not depend on the order of the additions.

A sum of floats rounds at every addition, so its last bits depend on how a kernel groups them, and compiled kernels
group by the vectors' width, by shapes and by the number of runs in the pack.
"""

from math import inf, nan

import torch
from torch import Tensor

EXPONENT_BITS = 0x7F800000


def run_sums(x: Tensor) -> Tensor:
    """Each run's sum over all its numbers; see `exact_sums`.  x (K, *), float32 → (K,)."""
    return exact_sums(x.flatten(1))


def exact_sums(x: Tensor) -> Tensor:
    """The sums along the last axis, without a gradient; nan where a number is not finite.  x (*, N), float32 → (*)."""
    x = x.detach()
    largest = x.abs().amax(dim=-1)
    power = power_of_two(largest)
    return torch.where(largest < inf, sums_below_two(x / power.unsqueeze(-1)) * power, nan)


def sums_below_two(x: Tensor) -> Tensor:
    """As `exact_sums`, of finite numbers between −2 and 2; others give a sum without meaning.

    They are cut to whole multiples of a power of two that is below N · 2⁻⁵⁹: integers have the same sum in any order.
    It is rounded once, to float32.
    """
    bits = 61 - x.shape[-1].bit_length()  # each whole number is below 2⁶² / N
    whole = (x.detach() * 2.0**bits).to(torch.int64).sum(dim=-1)
    return (whole.to(torch.float64) * 2.0**-bits).to(torch.float32)


def power_of_two(x: Tensor) -> Tensor:
    """The power of two at or below x; 1 where x is 0, denormal, infinite or nan.  x ≥ 0, float32 → like x."""
    power = (x.view(torch.int32) & EXPONENT_BITS).view(torch.float32)
    return torch.where((power > 0) & (power < inf), power, 1.0)
