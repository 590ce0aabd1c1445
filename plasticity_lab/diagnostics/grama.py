"""GraMa: how many units are hardly asked to change beside the others of their layer.

Legend: K runs, B examples, V values that a place passes on, N units.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.diagnostic import TASK, Diagnostic, interval
from plasticity_lab.diagnostics.places import at, columns_at, in_rows, run_by_run, units_of
from plasticity_lab.diagnostics.sensitivities import sensitivities
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column

TINY = 1e-30
"""Added to a layer's mean, which may be 0: then all of its units are inactive. Gradients can be very small."""


class GraMa(Diagnostic):
    """The share of units with a score of at most τ: the mean over the probe of |∂ℓ/∂h|, ℓ the loss of one example,
    divided by the layer's mean of that.

    Of a channel the mean is over pixels too, of a unit that passes on several values over these. Source: Liu et al.
    2025, arXiv 2505.24061, whose abstract we have read, not its code; the threshold is ours.
    """

    passes = 2.0

    def __init__(self, every: int | str = TASK, tau: float = 0.01) -> None:
        self.every = interval(every)
        self.tau = check("diagnostics.tau", tau, at_least=0)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Of the whole network, and of each place."""
        more = {"scale": 100.0, "places": 2, "better": "less"}
        return columns_at(self, units, "grama_inactive", "Units inactive by GraMa", "% of units (GraMa)", **more)

    def look(self, view: View) -> dict[str, Tensor]:
        """The shares, (K,) each, counted in whole numbers."""
        by_unit = sensitivities(view).units
        found = {unit.name: run_by_run(lambda own, at=unit: self._inactive(own, at), by_unit[unit.name])
                 for unit in view.units}  # fmt: skip
        whole = torch.cat(list(found.values()), dim=1)
        return {
            at("grama_inactive", place): own.sum(dim=1).double() / own.shape[1]
            for place, own in {None: whole, **found}.items()
        }

    def _inactive(self, own: Tensor, unit: Unit) -> Tensor:
        """Of one run: ∂ℓ/∂h (B, V, *) → (N,)."""
        size_N = units_of(in_rows(own).abs().mean(dim=0).double(), unit).mean(dim=0)
        return size_N <= self.tau * (size_N.mean() + TINY)
