"""L2-Init: a penalty that pulls every parameter towards its initial value."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from plasticity_lab.component import Chosen, check
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.l2 import pull, squared_distances
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.interventions.prune_experts import prunes


class L2Init(Intervention):
    """strength · Σ (θ − θ₀)², per run, in the loss (so through Adam), over all parameters, biases included.

    Source: Kumar et al. 2023; Appendix E.3. Their paper writes it without a half, as the default here; their code
    multiplies by one half (`half`). `include_activation` extends it to learnable activation parameters. A closed
    expert stays closed.
    """

    neutral = {"half": False, "include_activation": True}

    def __init__(self, strength: float = 1e-3, half: bool = False, include_activation: bool = True) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.half = half
        self.include_activation = include_activation

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """2 together with `PruneExperts`: version 1 pulled closed experts open."""
        return 2 if prunes(others) else super().version_beside(settings, others)

    def start(self, now: Now) -> State:
        """A copy of the parameters it pulls towards, name → (K, ...)."""
        left_out = now.model.switches
        if not self.include_activation:
            left_out |= now.model.learned_by_activation
        return {name: value.clone() for name, value in now.parameters.items() if name not in left_out}

    def penalty(self, now: Now) -> Tensor:
        """(K,): strength · Σ (θ − θ₀)², or half of it, over the parameters that are active."""
        pulled = ((now.parameters[name], start) for name, start in now.state.items() if name in now.parameters)
        return pull(now.settings["strength"], self.half, (squared_distances(*pair) for pair in pulled))
