"""GraMa: how many units have hardly a gradient compared with the other units of their layer.

Legend: K runs, B examples, V values that a place passes on, N units.
"""

from collections.abc import Mapping

from torch import Tensor

from plasticity_lab.diagnostics.diagnostic import TASK
from plasticity_lab.diagnostics.dormant_units import DormantUnits
from plasticity_lab.diagnostics.sensitivities import sensitivities
from plasticity_lab.diagnostics.view import View


class GraMa(DormantUnits):
    """The share of units with a score of at most τ: the mean over the probe of |∂ℓ/∂h|, ℓ the loss of one example,
    divided by the layer's mean of it.

    For a channel the mean includes pixels; for a unit that passes on several values it includes these. Source: Liu et
    al. 2025, arXiv 2505.24061. We have read the abstract, not the code; the threshold is ours.
    """

    passes = 2.0
    tiny = 1e-30  # gradients can be very small
    named = ("grama_inactive", "Units inactive by GraMa", "% of units (GraMa)")

    def __init__(self, every: int | str = TASK, tau: float = 0.01) -> None:
        super().__init__(every, tau)

    def values(self, view: View) -> Mapping[str, Tensor]:
        """The gradients by the activations."""
        return sensitivities(view).units
