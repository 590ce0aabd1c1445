"""A few examples, evenly spread over many."""

import torch
from torch import Tensor

PROBE = 256
"""Maximum number of examples in a probe."""


def evenly_spread(total: int, most: int, device: torch.device) -> Tensor:
    """At most `most` of the indices 0 … total − 1, at equal distances, starting with 0, (E,)."""
    count = min(total, most)
    return torch.arange(count, device=device) * total // count


def probe_of(total: int, device: torch.device, most: int = PROBE) -> Tensor:
    """Indices of a probe among 0 … total − 1, evenly spread, (P,): at most `most`, or nearly all if there are fewer.

    P is a multiple of 4, so that a forward pass gives a run the same bits in any pack. If there are fewer than 4,
    indices are repeated.
    """
    count = max(4, min(total, most) // 4 * 4)
    return torch.arange(count, device=device) * total // count
