"""L2 regularisation: a penalty that pulls every weight towards zero; and the parts of quadratic penalties."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from plasticity_lab.component import check
from plasticity_lab.interventions.held import Held
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now


class L2(Intervention):
    """strength · Σ θ², per run, in the loss (so through Adam), over the weights and biases of all layers.

    Scales and shifts of a normalisation, and learned values of an activation, are excluded: they do not start at zero.
    Source: Kumar et al. 2023; their code multiplies by one half (`half`). For weight decay outside of the loss, use
    `optimizer=adamw`.
    """

    def __init__(self, strength: float = 1e-3, half: bool = False) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.half = half

    def penalty(self, now: Now) -> Tensor:
        """(K,): strength · Σ θ², or half of it, over the layers that are active."""
        names = (f"{layer.name}.{part}" for layer in now.model.design.layers for part in ("weight", "bias"))
        pulled = [now.parameters[name] for name in names if name in now.parameters]
        return pull(now.settings["strength"], self.half, (squared_distances(v, v.new_zeros(())) for v in pulled))

    def held(self, now: Now) -> Held:
        """A pull towards 0."""
        return Held(factor(now.settings["strength"], self.half))


def squared_distances(values: Tensor, place: Tensor) -> Tensor:
    """(values − place)², (*) like values; place (*), or (). Eager, it reads memory once, as does its gradient."""
    return mse_loss(values, place.expand_as(values), reduction="none")


def pull(strength_K: Tensor, half: bool, squares: Iterable[Tensor]) -> Tensor:
    """(K,): strength · Σ over all of `squares` (K, ...), or half of it."""
    total = sum(square.flatten(1).sum(dim=1) for square in squares)
    return factor(strength_K, half) * torch.as_tensor(total)


def factor(strength_K: Tensor, half: bool) -> Tensor:
    """(K,): the factor of a sum of squares."""
    return strength_K * 0.5 if half else strength_K


def with_slope(values: Tensor, slope: Tensor) -> Tensor:
    """0, (K,), with `slope` as its derivative by `values`, both (K, ...)."""
    return (slope.detach() * (values - values.detach())).flatten(1).sum(dim=1)
