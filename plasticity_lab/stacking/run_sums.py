"""Sums over all numbers of a run whose bits do not depend on the order of the additions.

A sum over floats rounds at every addition, so its last bits depend on how a kernel groups them, and compiled kernels
group by the vectors' width, by shapes and by the number of runs in the pack.
"""

from math import inf, nan

import torch
from torch import Tensor

EXPONENT_BITS = 0x7F800000


def run_sums(x: Tensor) -> Tensor:
    """Each run's sum, without a gradient; nan if any of its numbers is not finite.  x (K, *), float32 → (K,).

    The numbers are first cut to whole multiples of a run's own unit, a power of two below 2⁻⁵⁹ × their count × the
    largest: a sum of integers is exact in any order. It is rounded to float32 at the end.
    """
    x_KN = x.detach().flatten(1)
    largest_K = x_KN.abs().amax(dim=1)
    unit_K = power_of_two(largest_K)
    bits = 61 - x_KN.shape[1].bit_length()  # each is below 2 in the unit, so their sum is below 2⁶²
    whole_K = (x_KN / unit_K.unsqueeze(1) * 2.0**bits).to(torch.int64).sum(dim=1)
    sum_K = (whole_K.to(torch.float64) * (unit_K.to(torch.float64) * 2.0**-bits)).to(torch.float32)
    return torch.where(largest_K < inf, sum_K, nan)


def power_of_two(x: Tensor) -> Tensor:
    """The power of two at or below x; 1 where x is 0, denormal, infinite or nan.  x ≥ 0, float32 → like x."""
    power = (x.view(torch.int32) & EXPONENT_BITS).view(torch.float32)
    return torch.where((power > 0) & (power < inf), power, 1.0)
