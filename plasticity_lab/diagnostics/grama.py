"""GraMa: how many units have hardly a gradient compared with the other units of their layer.

Legend: K runs, B examples, V values that a place passes on, N units.
"""

from collections.abc import Mapping

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.diagnostic import TASK, interval
from plasticity_lab.diagnostics.places import UnitShares, in_rows, units_of
from plasticity_lab.diagnostics.sensitivities import sensitivities
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit

TINY = 1e-30
"""Added to the mean of a layer, which may be 0: then all of its units are inactive. Gradients can be very small."""


class GraMa(UnitShares):
    """The share of units with a score of at most τ: the mean over the probe of |∂ℓ/∂h|, ℓ the loss of one example,
    divided by the layer's mean of it.

    For a channel the mean includes pixels; for a unit that passes on several values it includes these. Source: Liu et
    al. 2025, arXiv 2505.24061. We have read the abstract, not the code; the threshold is ours.
    """

    passes = 2.0
    named = ("grama_inactive", "Units inactive by GraMa", "% of units (GraMa)")

    def __init__(self, every: int | str = TASK, tau: float = 0.01) -> None:
        self.every = interval(every)
        self.tau = check("diagnostics.tau", tau, at_least=0)

    def values(self, view: View) -> Mapping[str, Tensor]:
        """The gradients by the activations."""
        return sensitivities(view).units

    def marked(self, own: Tensor, unit: Unit) -> Tensor:
        """∂ℓ/∂h (B, V, *) → (N,)."""
        size_N = units_of(in_rows(own).abs().mean(dim=0).double(), unit).mean(dim=0)
        return size_N <= self.tau * (size_N.mean() + TINY)
