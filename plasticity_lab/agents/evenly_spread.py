"""Which of many examples stand for all of them."""

import torch
from torch import Tensor

PROBE = 256
"""Examples of a probe, at most."""


def evenly_spread(total: int, most: int, device: torch.device) -> Tensor:
    """At most that many of 0 … total − 1, at equal distances, from the first on, (E,)."""
    count = min(total, most)
    return torch.arange(count, device=device) * total // count


def probe_of(total: int, device: torch.device, most: int = PROBE) -> Tensor:
    """Which of 0 … total − 1 make up a probe, evenly spread, (P,): at most that many, or of fewer nearly all.

    P is a multiple of 4, so that a forward pass gives a run the same bits whatever its pack; fewer than 4 are repeated.
    """
    count = max(4, min(total, most) // 4 * 4)
    return torch.arange(count, device=device) * total // count
