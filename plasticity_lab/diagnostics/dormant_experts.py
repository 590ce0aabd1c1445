"""Dormant units by expert: the criterion of resets of experts.

Legend: K runs, B examples, E experts, D units of each, P slots.
"""

from collections.abc import Sequence

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.diagnostic import Diagnostic, interval
from plasticity_lab.diagnostics.places import SHARE, run_by_run
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column

TINY = 1e-9
"""Added to an expert's mean, which may be 0: then all of its units are dormant."""


class DormantExperts(Diagnostic):
    """The share of dormant units of each expert. A unit is dormant if its mean |h| is at most τ of its expert's mean.

    The mean |h| is over the probe and the slots. It is the score of `intervention=reset_experts`, for one batch. It
    applies to heads with experts.
    Source: Sokar et al. 2025, Section 6 (the fraction of dormant neurons, which selects the experts to reset).
    """

    passes = 0.2

    def __init__(self, every: int | str = 1, tau: float = 0.025) -> None:
        self.every = interval(every)
        self.tau = check("diagnostics.tau", tau, at_least=0)

    def applies_to(self, model: Model) -> bool:
        """Whether the network has experts."""
        return any(unit.kind == "expert" for unit in model.units)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Columns of all experts together, and of each expert, numbered from 1."""
        experts = next((unit.produced[0] for unit in units if unit.kind == "expert"), 0)
        each = [
            self.column(f"dormant_expert_{number}", f"Dormant units of expert {number}", "% of its units", **SHARE)
            for number in range(1, experts + 1)
        ]
        return [self.column("dormant_experts", "Dormant units of experts", "% of their units", **SHARE), *each]

    def look(self, view: View) -> dict[str, Tensor]:
        """The shares, (K,) each, counted in whole numbers."""
        unit = next(unit for unit in view.units if unit.kind == "expert")
        shares_KE = run_by_run(self._shares, view.forward().hidden[unit.name])
        each = {f"dormant_expert_{at}": own for at, own in enumerate(shares_KE.unbind(dim=1), 1)}
        return {"dormant_experts": run_by_run(lambda own: own.mean(), shares_KE), **each}

    def _shares(self, own: Tensor) -> Tensor:
        """The shares of one run: h (B, E, *, D) → (E,)."""
        size_ED = own.abs().movedim(1, 0).flatten(1, -2).mean(dim=1).double()
        return (size_ED <= self.tau * (size_ED.mean(dim=1, keepdim=True) + TINY)).sum(dim=1).double() / size_ED.shape[1]
