"""Duplicate units: how many say what another unit of their layer says already.

Legend: K runs, R examples (of channels: and pixels), V values that a place passes on, N units.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.diagnostic import Diagnostic, interval
from plasticity_lab.diagnostics.places import at, columns_at, in_rows, run_by_run, units_of
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column


class DuplicateUnits(Diagnostic):
    """The share of units whose outputs point where those of an earlier unit of the layer do.

    Two units are the same where the cosine between their outputs h over the probe (and the pixels, and all values of a
    unit) is at least `similarity`. Of n that are the same n − 1 are duplicates. A unit that gives 0 alone is no
    duplicate: it is dead. Source: the definition is ours.
    """

    passes = 0.5

    def __init__(self, every: int | str = 1, similarity: float = 0.99) -> None:
        self.every = interval(every)
        self.similarity = check("diagnostics.similarity", similarity, above=0, below=1)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Of the whole network, and of each place."""
        more = {"scale": 100.0, "places": 2, "better": "less"}
        return columns_at(self, units, "duplicate_units", "Duplicate units", "% of all the units", **more)

    def look(self, view: View) -> dict[str, Tensor]:
        """The shares, (K,) each, counted in whole numbers."""
        hidden = view.forward().hidden
        found = {unit.name: run_by_run(lambda h, at=unit: self._duplicates(h, at), hidden[unit.name])
                 for unit in view.units}  # fmt: skip
        whole = torch.cat(list(found.values()), dim=1)
        return {
            at("duplicate_units", place): own.sum(dim=1).double() / own.shape[1]
            for place, own in {None: whole, **found}.items()
        }

    def _duplicates(self, own: Tensor, unit: Unit) -> Tensor:
        """Of one run: h (B, V, *) → (N,)."""
        values_RMN = units_of(in_rows(own), unit)
        products_NN = torch.stack([own.t() @ own for own in values_RMN.unbind(dim=1)]).double().sum(dim=0)
        length_N = products_NN.diagonal().clamp(min=0).sqrt()
        alive = length_N > 0
        cosine_NN = products_NN / torch.where(alive, length_N, 1.0).unsqueeze(0)
        cosine_NN = cosine_NN / torch.where(alive, length_N, 1.0).unsqueeze(1)
        alike_NN = (cosine_NN >= self.similarity) & alive.unsqueeze(0) & alive.unsqueeze(1)
        return alike_NN.tril(diagonal=-1).any(dim=1)
