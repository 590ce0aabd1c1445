"""Pre-activations: their mean and spread, and how far they have shifted since the run began.

Legend: K runs, R examples (of channels: and pixels), D units or channels.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.diagnostics.diagnostic import Diagnostic, interval
from plasticity_lab.diagnostics.places import at, columns_at, in_rows, run_by_run
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column

TINY = 1e-12
PARTS = ("mean", "deviation", "shift")


class Preactivations(Diagnostic):
    """Mean and standard deviation of each unit's z over the probe (and pixels), as means over a layer's units; and the
    shift.

    The shift of a unit is the distance that its mean has moved since the first measurement, in units of its first
    standard deviation; the column is the mean over units. The network's numbers are means over all units. The first
    measurement is before the first update, or as soon as the agent has seen data. The probe belongs to the current
    task, so a shift includes changes of weights and of inputs. Source: the definition is ours; Lyle et al. 2024 name
    shifts of pre-activations as a cause of lost plasticity. State: two numbers a unit.
    """

    passes = 0.3

    def __init__(self, every: int | str = 1) -> None:
        self.every = interval(every)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Columns of the whole network, and of each place."""
        titles = {"mean": "Pre-activations, mean", "deviation": "Pre-activations, deviation",
                  "shift": "Pre-activations, shift"}  # fmt: skip
        named = {"mean": "z", "deviation": "σ of z", "shift": "σ at the start"}
        return [
            column
            for part in PARTS
            for column in columns_at(self, units, f"preactivation_{part}", titles[part], named[part], places=3)
        ]

    def start(self, view: View) -> dict[str, Tensor]:
        """For each unit, by name, the first mean and deviation; zeros if they are not known yet."""
        runs, like = len(view.seeds), next(iter(view.parameters.values()))
        zeros = {
            unit.name: torch.zeros(runs, 2, unit.activated[0], device=like.device, dtype=torch.float64)
            for unit in view.model.units
        }
        return zeros | (_moments(view) if view.probe else {})

    def look(self, view: View) -> dict[str, Tensor]:
        """(K,) each."""
        found, every = dict[str, Tensor](), list[Tensor]()
        for name, now in _moments(view).items():
            first = view.state[name]
            # Zeros: an agent that had seen nothing at the start, or units of an environment that is new.
            new = (first.flatten(1) == 0).all(dim=1).view(-1, 1, 1)
            first.copy_(torch.where(new, now, first))
            shift = (now[:, 0] - first[:, 0]).abs() / first[:, 1].clamp(min=TINY)
            every.append(torch.stack([now[:, 0], now[:, 1], shift], dim=1))
            found |= _means(name, every[-1])
        return found | _means(None, torch.cat(every, dim=2))


def _moments(view: View) -> dict[str, Tensor]:
    """By unit name, (K, 2, D) float64: mean and standard deviation of each unit's z."""
    before = view.forward().before

    def of(own: Tensor) -> Tensor:
        rows = in_rows(own)
        mean = rows.mean(dim=0)
        # Around the mean: if the mean is large, a difference of sums of squares would lose all digits.
        return torch.stack([mean, (rows - mean).square().mean(dim=0).sqrt()]).double()

    return {unit.name: run_by_run(of, unit.units_first(before[unit.name])) for unit in view.units}


def _means(place: str | None, values: Tensor) -> dict[str, Tensor]:
    """The columns of a place.  values (K, 3, D)."""
    means = run_by_run(lambda own: own.mean(dim=1), values)
    return {at(f"preactivation_{part}", place): means[:, n] for n, part in enumerate(PARTS)}
