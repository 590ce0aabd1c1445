"""The targets of a value agent's network: the returns of the steps, plus the value of the next state.

Legend: K runs, B examples of a batch, A actions to choose from, Z atoms of a distribution.

returns (K, B). discount (K, B): γ to the power of a return's steps, 0 if no state follows.
"""

import torch
from torch import Tensor

from plasticity_lab.stacking.elementary import compiles_for_cpu, summed_last


def values(best_KB: Tensor, returns_KB: Tensor, discount_KB: Tensor) -> Tensor:
    """The target for the value of each action taken, (K, B): returns + discount · best.

    best: the value of the next state. Source: Mnih et al. 2015, algorithm 1; for n steps, Sutton & Barto 2018, eq. 7.1.
    """
    return returns_KB + discount_KB * best_KB


def projected(probabilities_KBZ: Tensor, support_KZ: Tensor, returns_KB: Tensor, discount_KB: Tensor) -> Tensor:
    """The distribution of returns + discount · z, projected onto the atoms of the support: (K, B, Z).

    probabilities: probabilities of the next state's atoms z.
    Values beyond the support are clipped to its ends. A value between two atoms is divided between them, in proportion
    to its distance. Source: Bellemare et al. 2017, algorithm 1.
    """
    low, high = support_KZ[:, None, :1], support_KZ[:, None, -1:]
    width = (high - low) / (support_KZ.shape[1] - 1)
    moved = values(support_KZ[:, None], returns_KB.unsqueeze(2), discount_KB.unsqueeze(2))
    moved = torch.minimum(torch.maximum(moved, low), high)
    if compiles_for_cpu(moved):
        return _shared_out(probabilities_KBZ, (moved - low) / width)
    distance = (moved.unsqueeze(2) - support_KZ[:, None, :, None]).abs() / width.unsqueeze(3)
    shares = (1 - distance).clamp(min=0)  # (K, B, Z, Z): share of axis 3's atom that goes to axis 2's atom
    return summed_last(shares * probabilities_KBZ.unsqueeze(2))


def _shared_out(probabilities_KBZ: Tensor, place_KBZ: Tensor) -> Tensor:
    """Divides each probability between the two atoms next to its place, counted from the first atom: (K, B, Z).

    The additions run one after the other, as in compiled loops on a CPU. This takes a tenth of the time of Z² shares,
    and gives the same bits in any pack. It is not used on a GPU, which adds in an arbitrary order.
    """
    below = place_KBZ.floor().clamp(max=place_KBZ.shape[2] - 2)
    share = place_KBZ - below
    index = torch.where(place_KBZ >= 0, below, 0.0).to(torch.int64)  # NaN becomes 0 too
    nothing = torch.zeros_like(probabilities_KBZ)
    lower = nothing.scatter_add(2, index, probabilities_KBZ * (1 - share))
    return lower.scatter_add(2, index + 1, probabilities_KBZ * share)
