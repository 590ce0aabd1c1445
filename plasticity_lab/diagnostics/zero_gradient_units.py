"""Units that learn nothing: no example of the probe has a gradient by the weights into them.

Legend: K runs, B examples, N units, * the pixels of a map.
"""

from collections.abc import Mapping

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.diagnostic import TASK, interval
from plasticity_lab.diagnostics.places import UnitShares
from plasticity_lab.diagnostics.sensitivities import sensitivities
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit


class ZeroGradientUnits(UnitShares):
    """The share of units with |∂ℓ/∂a| ≤ `floor` for every example. ℓ is the loss of the example; a is the output of the
    layer before for the unit, before any normalisation.

    With the floor of 0 these are the units that gradients can no longer revive. Source: the definition is ours.
    """

    passes = 2.0
    named = ("zero_gradient_units", "Units without gradient", "% of units (gradient)")

    def __init__(self, every: int | str = TASK, floor: float = 0.0) -> None:
        self.every = interval(every)
        self.floor = check("diagnostics.floor", floor, at_least=0)

    def values(self, view: View) -> Mapping[str, Tensor]:
        """The gradients by the outputs of the layers before."""
        layers = sensitivities(view).layers
        return {unit.name: layers[unit.incoming].delta for unit in view.units}

    def marked(self, own: Tensor, unit: Unit) -> Tensor:
        """∂ℓ/∂a (B, N, *) → (N,)."""
        return (own.abs() <= self.floor).movedim(1, 0).flatten(1).all(dim=1)
