"""Dormant units: how many are hardly active beside the others of their layer.

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

TINY = 1e-9
"""Added to a layer's mean, which may be 0: then all of its units are dormant."""


class DormantUnits(Diagnostic):
    """The share of units with a score of at most τ: mean |h| over the probe, divided by the layer's mean of that.

    Of a channel the mean is over pixels too, of a unit that passes on several values over these. The score is that by
    which `intervention=redo` resets. Source: Sokar et al. 2023.
    """

    passes = 0.2

    def __init__(self, every: int | str = 1, tau: float = 0.1) -> None:
        self.every = interval(every)
        self.tau = check("diagnostics.tau", tau, at_least=0)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Of the whole network, and of each place."""
        more = {"scale": 100.0, "places": 2, "better": "less"}
        return columns_at(self, units, "dormant_units", "Dormant units", "% of all units", **more)

    def look(self, view: View) -> dict[str, Tensor]:
        """The shares, (K,) each, counted in whole numbers."""
        hidden = view.forward().hidden
        dormant = {unit.name: run_by_run(lambda h, at=unit: self._dormant(h, at), hidden[unit.name])
                   for unit in view.units}  # fmt: skip
        whole = torch.cat(list(dormant.values()), dim=1)
        return {
            at("dormant_units", place): found.sum(dim=1).double() / found.shape[1]
            for place, found in {None: whole, **dormant}.items()
        }

    def _dormant(self, own: Tensor, unit: Unit) -> Tensor:
        """Of one run: h (B, V, *) → (N,)."""
        size_N = units_of(in_rows(own).abs().mean(dim=0).double(), unit).mean(dim=0)
        return size_N <= self.tau * (size_N.mean() + TINY)
