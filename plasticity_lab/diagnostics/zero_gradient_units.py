"""Units that learn nothing: no example of the probe leaves a gradient in the weights into them.

Legend: K runs, B examples, N units.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.diagnostic import TASK, Diagnostic, interval
from plasticity_lab.diagnostics.places import at, columns_at
from plasticity_lab.diagnostics.sensitivities import sensitivities
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column


class ZeroGradientUnits(Diagnostic):
    """The share of units for which |∂ℓ/∂a| ≤ `floor` with every example: ℓ is its loss, a what the layer before makes
    for the unit, before any normalisation.

    With the floor of 0 these are the units that gradients can no longer bring back. Source: the definition is ours.
    """

    passes = 2.0

    def __init__(self, every: int | str = TASK, floor: float = 0.0) -> None:
        self.every = interval(every)
        self.floor = check("diagnostics.floor", floor, at_least=0)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Of the whole network, and of each place."""
        more = {"scale": 100.0, "places": 2, "better": "less"}
        return columns_at(self, units, "zero_gradient_units", "Units without gradient", "% of units (gradient)", **more)

    def look(self, view: View) -> dict[str, Tensor]:
        """The shares, (K,) each, counted in whole numbers."""
        layers = sensitivities(view).layers
        found = {
            unit.name: (layers[unit.incoming].delta.abs() <= self.floor).movedim(2, 1).flatten(2).all(dim=2)
            for unit in view.units
        }
        whole = torch.cat(list(found.values()), dim=1)
        return {
            at("zero_gradient_units", place): own.sum(dim=1).double() / own.shape[1]
            for place, own in {None: whole, **found}.items()
        }
