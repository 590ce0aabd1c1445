"""How what experts produce is laid before an activation, which knows units alone, and back.

Legend: K runs, B examples, E experts, D units of each, * slots.
"""

from torch import Tensor

from plasticity_lab.networks.network import Unit


def units_first(unit: Unit, x: Tensor) -> Tensor:
    """What the activation at a place is given: of experts (K, B, E, *, D) → (K, B, D·E, *), of others x itself.

    The experts of a unit lie beside each other, so that what an activation does with halves of the units (it passes on
    several values for each, or one for a pair) stays within each expert.
    """
    return x.movedim(-1, 2).flatten(2, 3) if unit.kind == "expert" else x


def experts_first(unit: Unit, h: Tensor) -> Tensor:
    """What the activation has made, as the network goes on with it: of experts (K, B, D·E, *) → (K, B, E, *, D)."""
    return h.unflatten(2, (-1, unit.produced[0])).movedim(2, -1) if unit.kind == "expert" else h
