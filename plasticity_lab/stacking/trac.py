"""TRAC: an optimizer's steps, scaled by how far it pays to leave the first parameters.

Legend: K runs, J tuners.
"""

from math import sqrt
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from plasticity_lab.component import Component
from plasticity_lab.others import Others
from plasticity_lab.stacking.elementary import erfi
from plasticity_lab.stacking.optimizer import Optimizer, Tensors
from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.update_rule import RuleInputs, UpdateRule, run_product

DISCOUNTS = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
"""β of each tuner."""
EPSILON = 1e-8
ERFI_OF_ROOT_HALF = 0.9534382692512611
"""erfi(1/√2)."""


@runtime_checkable
class ChangesParameters(Protocol):
    """An intervention, as this optimizer asks it."""

    restarts_agent: bool

    def changes_parameters(self) -> bool:
        """Whether it may change parameters in place."""
        ...


class TRAC(UpdateRule):
    """θ ← θ₀ + S · Δ with Δ = (θ − θ₀) / (S + ε) + u: u is the step of another optimizer, the base, and S a scale.

    h = ⟨g, (θ − θ₀) / (S + ε)⟩ over all parameters of the run. For each of six discounts β: v ← β² v + h²,
    m ← β m − h; then S = max(0, Σ scale / erfi(1/√2) · erfi(m / (√2 √v + ε))). θ₀ are the parameters at the start. With
    several environments, S and the sums are of the active parameters. Source: Muppidi et al. 2024 (NeurIPS), Algorithms
    1 and 2, as in package/src/trac_optimizer/trac.py, with m = ε at first.
    docs/pages/reference/optimizers.md lists the details.

    Interventions that change parameters in place are refused: their change would be divided by S + ε like a step.
    fresh_each_task is not, since everything begins again with its network. A subclass has the settings of its base and
    `scale`, the published s_prev. `reset=task`: at the end of each task the base's moments and the tuners begin again,
    and θ₀ are the parameters of that time.
    """

    objects_to = frozenset({"intervention"})
    copies = 3
    operations = 450
    base: Optimizer
    scale: float

    def objection(self, others: Others) -> str | None:
        """No intervention may change parameters in place, except together with a fresh start."""
        for each in others.each("intervention", Component) if "intervention" in others else ():
            if isinstance(each, ChangesParameters) and each.changes_parameters() and not each.restarts_agent:
                return (
                    "the intervention changes parameters in place, and TRAC would divide that change by its scale, "
                    "which may be 1e-8; take one that is a term of the loss, or the base optimizer alone"
                )
        return None

    def start_state(self, parameters: Tensors) -> dict[str, dict[str, Tensor]]:
        """reference: θ₀. tuners: "variance" v (K, J), "sum" m (K, J), "scale" S (K,)."""
        like = next(iter(parameters.values()))
        zeros = like.new_zeros(len(like), len(DISCOUNTS))
        tuners = {"variance": zeros, "sum": torch.full_like(zeros, EPSILON), "scale": zeros[:, 0].clone()}
        return {"reference": {name: value.clone() for name, value in parameters.items()}, "tuners": tuners}

    def corrections(self, settings: Tensors, first: int, steps: int) -> dict[str, Tensor]:
        """The base's."""
        return self.base.corrections(settings, first, steps)

    def settled(self, settings: Tensors) -> int:
        """The base's."""
        return self.base.settled(settings)

    def step(self, now: RuleInputs) -> None:
        """One step in place."""
        reference, tuners = now.state["reference"], now.state["tuners"]
        before = {name: now.parameters[name].clone() for name in now.names}
        now.plain_step(self.base)
        over_K = tuners["scale"] + EPSILON
        left = {name: (value - reference[name]) / beside(over_K, value) for name, value in before.items()}
        scale_K = _tuned(tuners, run_product(now.gradients, left, now.names), now.settings["scale"])
        for name, value in left.items():
            parameter = now.parameters[name]
            delta = value + (parameter - before[name])
            parameter.copy_(reference[name] + beside(scale_K, parameter) * delta)


def _tuned(tuners: Tensors, h_K: Tensor, start_K: Tensor) -> Tensor:
    """The next S, (K,); the tuners change in place."""
    discounts = torch.tensor(DISCOUNTS, device=h_K.device)
    variance, total = tuners["variance"], tuners["sum"]
    variance.mul_(discounts * discounts).add_((h_K * h_K).unsqueeze(1))
    total.mul_(discounts).sub_(h_K.unsqueeze(1))
    each_KJ = erfi(total / (variance.sqrt() * sqrt(2) + EPSILON))
    factor_K = (start_K / ERFI_OF_ROOT_HALF).float()
    scale = (sum((factor_K * each for each in each_KJ.unbind(1)), torch.zeros_like(h_K))).clamp(min=0.0)
    tuners["scale"].copy_(scale)
    return scale
