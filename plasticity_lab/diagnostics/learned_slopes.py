"""The slopes that PReLU and bounded PReLU have learned, as a distribution.

Legend: K runs, n slopes of a place.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.activations.prelu import BoundedPReLU, PReLU
from plasticity_lab.component import check
from plasticity_lab.diagnostics.derivatives import FLAT, derivatives, site_of
from plasticity_lab.diagnostics.diagnostic import Diagnostic, interval
from plasticity_lab.diagnostics.places import at, columns_at
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column

QUANTILES = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}
TITLES = {"min": "least", "q25": "lower quartile", "median": "median", "q75": "upper quartile", "max": "greatest"}


SMALL = "slope_small"


class LearnedSlopes(Diagnostic):
    """Quantiles of the negative slopes, for the whole network and each place, with linear interpolation.

    A further column is the share of slopes below `small`. The caption of Figure C2 calls it ε and leaves it open; the
    default is the value of Section 4. Slopes of scope `neuron` are one a unit or channel, of `layer` one a place, of
    `global` one. Source: Appendix C.2, Figures C2 and C3, which show the course of every slope.
    """

    passes = 0.0

    def __init__(self, every: int | str = 1, small: float = FLAT) -> None:
        self.every = interval(every)
        self.small = check("diagnostics.small", small, above=0)

    def applies_to(self, model: Model) -> bool:
        """Whether the activation learns its slope."""
        return isinstance(model.activation, PReLU | BoundedPReLU)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Columns of the whole network, and of each place."""
        found = [
            column
            for part in QUANTILES
            for column in columns_at(self, units, f"slope_{part}", f"Learned slopes, {TITLES[part]}", "slope", places=3)
        ]
        more = {"scale": 100.0, "places": 2}
        return [*found, *columns_at(self, units, SMALL, f"Learned slopes below {self.small:g}", "% of slopes", **more)]

    def look(self, view: View) -> dict[str, Tensor]:
        """(K,) each."""
        found: dict[str, list[Tensor]] = {}
        for run in range(len(view.seeds)):
            slopes = {unit.name: self._slopes(view, unit, run) for unit in view.units}
            shared = view.model.activation.learnable(1).values()
            every = (
                next(iter(slopes.values())) if all(each.shared for each in shared) else torch.cat([*slopes.values()])
            )
            for place, own in {None: every, **slopes}.items():
                for part, share in QUANTILES.items():
                    found.setdefault(at(f"slope_{part}", place), []).append(own.quantile(share))
                small = torch.tensor(int((own < self.small).sum()) / own.numel(), dtype=torch.float64)
                found.setdefault(at(SMALL, place), []).append(small)
        return {name: torch.stack(values) for name, values in found.items()}

    def _slopes(self, view: View, unit: Unit, run: int) -> Tensor:
        """The slopes of one run at a place, (n,) float64: the derivative at −1, in the order of the units."""
        site = site_of(view, unit.name, run)
        width = max(value.shape[1] for value in site.learned.values())
        like = next(iter(site.learned.values()))
        return derivatives(view.activation_at(unit.name)[0], -like.new_ones(1, 1, width), site).flatten().double()
