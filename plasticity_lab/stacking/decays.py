"""Corrections for running means that start at zero, computed before a step; and when they are constant.

Legend: K runs, S steps.
"""

from math import ceil, log

import torch
from torch import Tensor


def unbiased(decay_K: Tensor, first: int, steps: int) -> Tensor:
    """1 / (1 − decayᵗ), (S, K) float32, for the steps first … first + steps − 1; computed in float64."""
    t = torch.arange(first, first + steps, dtype=torch.float64, device=decay_K.device).unsqueeze(1)
    return (1 / (1 - decay_K**t)).float()


def steps_to_settle(*decays: Tensor) -> int:
    """The number of steps after which decayᵗ is below 2⁻²⁶ for all decays (K,), at most a million."""
    largest = max(float(decay.max()) for decay in decays)
    return min(10**6, 1 if largest <= 0 else ceil(-26 * log(2) / log(largest)))
