"""Duplicate units: how many have the same output as another unit of their layer.

Legend: K runs, R examples (of channels: and pixels), V values that a place passes on, M values of a unit, N units.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.diagnostic import interval
from plasticity_lab.diagnostics.places import UnitShares, in_rows, units_of
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit


class DuplicateUnits(UnitShares):
    """The share of units with outputs in the same direction as the outputs of an earlier unit of the layer.

    Two units are the same if the cosine between their outputs h over the probe (and the pixels, and all values of a
    unit) is at least `similarity`. If n units are the same, n − 1 are duplicates. A unit with only zero outputs is no
    duplicate: it is dead. Source: the definition is ours.
    """

    passes = 0.5
    named = ("duplicate_units", "Duplicate units", "% of all the units")

    def __init__(self, every: int | str = 1, similarity: float = 0.99) -> None:
        self.every = interval(every)
        self.similarity = check("diagnostics.similarity", similarity, above=0, below=1)

    def values(self, view: View) -> Mapping[str, Tensor]:
        """The activations."""
        return view.forward().hidden

    def marked(self, own: Tensor, unit: Unit) -> Tensor:
        """h (B, V, *) → (N,)."""
        values_RMN = units_of(in_rows(own), unit)
        products_NN = torch.stack([own.t() @ own for own in values_RMN.unbind(dim=1)]).double().sum(dim=0)
        length_N = products_NN.diagonal().clamp(min=0).sqrt()
        alive = length_N > 0
        cosine_NN = products_NN / torch.where(alive, length_N, 1.0).unsqueeze(0)
        cosine_NN = cosine_NN / torch.where(alive, length_N, 1.0).unsqueeze(1)
        same_NN = (cosine_NN >= self.similarity) & alive.unsqueeze(0) & alive.unsqueeze(1)
        return same_NN.tril(diagonal=-1).any(dim=1)
