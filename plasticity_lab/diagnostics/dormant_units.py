"""Dormant units: how many are hardly active compared with the other units of their layer.

Legend: K runs, V values that a place passes on, N units.
"""

from collections.abc import Mapping

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.diagnostic import interval
from plasticity_lab.diagnostics.places import UnitShares, in_rows, units_of
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit


class DormantUnits(UnitShares):
    """The share of units with a score of at most τ: mean |h| over the probe, divided by the layer's mean of it.

    For a channel the mean includes pixels; for a unit that passes on several values it includes these.
    `intervention=redo` resets units by the same score. Source: Sokar et al. 2023.
    """

    passes = 0.2
    tiny = 1e-9
    """Added to the mean of a layer, which may be 0: then all of its units are dormant."""
    named = ("dormant_units", "Dormant units", "% of all units")

    def __init__(self, every: int | str = 1, tau: float = 0.1) -> None:
        self.every = interval(every)
        self.tau = check("diagnostics.tau", tau, at_least=0)

    def values(self, view: View) -> Mapping[str, Tensor]:
        """The activations."""
        return view.forward().hidden

    def marked(self, own: Tensor, unit: Unit) -> Tensor:
        """Values (B, V, *) → (N,)."""
        size_N = units_of(in_rows(own).abs().mean(dim=0).double(), unit).mean(dim=0)
        return size_N <= self.tau * (size_N.mean() + self.tiny)
