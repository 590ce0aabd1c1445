"""What a value agent's network is pulled towards: the returns of the steps, and the value of what followed.

Legend: K runs, B examples of a batch, A actions to choose from, Z atoms of a distribution.

returns (K, B). discount (K, B): γ to the power of a return's steps, 0 where nothing follows.
"""

import torch
from torch import Tensor

from plasticity_lab.stacking.elementary import compiles_for_cpu, summed_last


def values(best_KB: Tensor, returns_KB: Tensor, discount_KB: Tensor) -> Tensor:
    """What the value of each action taken should be, (K, B): returns + discount · best.

    best: the value of what followed. Source: Mnih et al. 2015, algorithm 1; of n steps, Sutton & Barto 2018, eq. 7.1.
    """
    return returns_KB + discount_KB * best_KB


def projected(probabilities_KBZ: Tensor, support_KZ: Tensor, returns_KB: Tensor, discount_KB: Tensor) -> Tensor:
    """The distribution of returns + discount · z, brought back to the atoms of the support: (K, B, Z).

    probabilities: of the atoms z of what followed. What lies beyond the support counts as its end; what lies between
    two atoms is shared by them, in proportion to how near it is. Source: Bellemare et al. 2017, algorithm 1.
    """
    low, high = support_KZ[:, None, :1], support_KZ[:, None, -1:]
    width = (high - low) / (support_KZ.shape[1] - 1)
    moved = values(support_KZ[:, None], returns_KB.unsqueeze(2), discount_KB.unsqueeze(2))
    moved = torch.minimum(torch.maximum(moved, low), high)
    if compiles_for_cpu(moved):
        return _shared_out(probabilities_KBZ, (moved - low) / width)
    distance = (moved.unsqueeze(2) - support_KZ[:, None, :, None]).abs() / width.unsqueeze(3)
    shares = (1 - distance).clamp(min=0)  # (K, B, Z, Z): of the last axis' atom, what goes to the one before it
    return summed_last(shares * probabilities_KBZ.unsqueeze(2))


def _shared_out(probabilities_KBZ: Tensor, place_KBZ: Tensor) -> Tensor:
    """Each probability divided between the two atoms on either side of its place, counted from the first: (K, B, Z).

    One after the other, as compiled loops of a CPU do it: a tenth of the time that Z² shares take, and the same bits in
    any pack. A GPU adds in an order of its own, and does without.
    """
    below = place_KBZ.floor().clamp(max=place_KBZ.shape[2] - 2)
    share = place_KBZ - below
    index = torch.where(place_KBZ >= 0, below, 0.0).to(torch.int64)  # also where it is not a number
    nothing = torch.zeros_like(probabilities_KBZ)
    lower = nothing.scatter_add(2, index, probabilities_KBZ * (1 - share))
    return lower.scatter_add(2, index + 1, probabilities_KBZ * share)
