"""L2-Init: a spring that pulls every parameter towards where it started."""

from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.intervention import Intervention, Parameters, State
from plasticity_lab.networks.model import Model, is_learned_by_activation


class L2Init(Intervention):
    """strength · Σ (θ − θ₀)², per run, in the loss (so through Adam), over all parameters, biases included.

    Source: Kumar et al. 2023; Appendix E.3. Their paper writes it without a half, as the default here; their code
    multiplies by one half (`half`). `include_activation` extends it to learnable activation parameters.
    """

    neutral = {"half": False, "include_activation": True}

    def __init__(self, strength: float = 1e-3, half: bool = False, include_activation: bool = True) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.half = half
        self.include_activation = include_activation

    def start(self, model: Model, parameters: Parameters) -> State:
        """A copy of the parameters it pulls towards, name → (K, ...)."""
        return {
            name: value.clone()
            for name, value in parameters.items()
            if self.include_activation or not is_learned_by_activation(name)
        }

    def penalty(self, parameters: Parameters, settings: Mapping[str, Tensor], state: State) -> Tensor:
        """(K,): strength · Σ (θ − θ₀)², or half of it."""
        total = sum((parameters[name] - start).square().flatten(1).sum(dim=1) for name, start in state.items())
        scale = settings["strength"] * 0.5 if self.half else settings["strength"]
        return scale * torch.as_tensor(total)
