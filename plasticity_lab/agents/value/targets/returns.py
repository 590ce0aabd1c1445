"""Returns plus the discounted value of the next state: a number, or a distribution on the atoms of a support.

Legend: K runs, B examples of a batch, A actions to choose from, Z atoms of a support, N atoms of any distribution.

returns (K, B). discount (K, B): γ to the power of a return's steps, 0 if no state follows.
"""

from functools import reduce

import torch
from torch import Tensor

from plasticity_lab.kernels import operators
from plasticity_lab.stacking.elementary import compiles_for_cpu, summed_last


def values(best_KB: Tensor, returns_KB: Tensor, discount_KB: Tensor) -> Tensor:
    """The target for the value of each action taken, (K, B): returns + discount · best.

    best: the value of the next state. Source: Mnih et al. 2015, algorithm 1; for n steps, Sutton & Barto 2018, eq. 7.1.
    """
    return returns_KB + discount_KB * best_KB


def projected(probabilities_KBZ: Tensor, support_KZ: Tensor, returns_KB: Tensor, discount_KB: Tensor) -> Tensor:
    """The distribution of returns + discount · z, projected onto the atoms of the support: (K, B, Z).

    probabilities: probabilities of the next state's atoms z. Source: Bellemare et al. 2017, algorithm 1.
    """
    return _on_support(probabilities_KBZ, None, support_KZ, returns_KB, discount_KB)


def mixed(
    weights_KBA: Tensor,
    probabilities_KBAZ: Tensor,
    added_KBA: Tensor,
    support_KZ: Tensor,
    returns_KB: Tensor,
    discount_KB: Tensor,
) -> Tensor:
    """A mixture over the next action of the projected distributions of returns + discount · (z + added): (K, B, Z).

    weights: the probability of each next action. probabilities: the probabilities of each action's atoms z. added: a
    number for each action, added to its atoms.
    Inside a graph for a CPU, the atoms of all actions are divided in one pass. Otherwise the actions follow one after
    another, since Z² · A shares at once take too much memory.
    """
    atoms = support_KZ[:, None, None] + added_KBA.unsqueeze(3)
    weighted = weights_KBA.unsqueeze(3) * probabilities_KBAZ
    others = support_KZ, returns_KB, discount_KB
    if compiles_for_cpu(atoms):
        return _on_support(weighted.flatten(2), atoms.flatten(2), *others)
    by_action = zip(weighted.unbind(2), atoms.unbind(2), strict=True)
    return reduce(torch.add, [_on_support(own, own_atoms, *others) for own, own_atoms in by_action])


def _on_support(
    probabilities_KBN: Tensor,
    atoms_KBN: Tensor | None,
    support_KZ: Tensor,
    returns_KB: Tensor,
    discount_KB: Tensor,
) -> Tensor:
    """The distribution of returns + discount · atom, projected onto the support: (K, B, Z).

    probabilities: the probabilities of the atoms. atoms: None for the atoms of the support.
    Values beyond the support are clipped to its ends. A value between two atoms is divided between them, in proportion
    to its distance.
    """
    if operators.serve(probabilities_KBN):
        atoms = support_KZ if atoms_KBN is None else atoms_KBN
        return torch.ops.plasticity_lab.projected(probabilities_KBN, atoms, support_KZ, returns_KB, discount_KB)
    low, high, count = support_KZ[:, None, :1], support_KZ[:, None, -1:], support_KZ.shape[1]
    width = (high - low) / (count - 1)
    atoms = support_KZ[:, None] if atoms_KBN is None else atoms_KBN
    moved = values(atoms, returns_KB.unsqueeze(2), discount_KB.unsqueeze(2))
    moved = torch.minimum(torch.maximum(moved, low), high)
    if compiles_for_cpu(moved):
        return _shared_out(probabilities_KBN, (moved - low) / width, count)
    distance = (moved.unsqueeze(2) - support_KZ[:, None, :, None]).abs() / width.unsqueeze(3)
    shares = (1 - distance).clamp(min=0)  # (K, B, Z, N): share of axis 3's atom that goes to axis 2's atom
    return summed_last(shares * probabilities_KBN.unsqueeze(2))


def _shared_out(probabilities_KBN: Tensor, place_KBN: Tensor, count: int) -> Tensor:
    """Divides each probability between the two atoms next to its place, counted from the first atom: (K, B, count).

    The additions run one after the other, as in compiled loops on a CPU. This takes a tenth of the time of Z² shares,
    and gives the same bits in any pack. It is not used on a GPU, which adds in an arbitrary order.
    """
    below = place_KBN.floor().clamp(max=count - 2)
    share = place_KBN - below
    index = torch.where(place_KBN >= 0, below, 0.0).to(torch.int64)  # NaN becomes 0 too
    nothing = probabilities_KBN.new_zeros(*probabilities_KBN.shape[:2], count)
    lower = nothing.scatter_add(2, index, probabilities_KBN * (1 - share))
    return lower.scatter_add(2, index + 1, probabilities_KBN * share)
