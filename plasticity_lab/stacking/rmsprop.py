"""RMSprop with a learning rate, alpha, epsilon and weight decay per run."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.run_by_run import kernels_serve, numbers, slices

Tensors = Mapping[str, Tensor]


class RMSprop(Optimizer):
    """v ← α · v + (1 − α) · g²;  θ ← θ − lr · g / (√v + ε), where g has weight_decay · θ in it.

    Source: Tieleman & Hinton 2012, lecture 6.5; ε outside the root, as PyTorch has it. Neither centred nor with
    momentum. `reset`: never (v crosses tasks) or task.
    """

    def __init__(
        self,
        lr: float = 1e-3,
        alpha: float = 0.99,
        epsilon: float = 1e-8,
        weight_decay: float = 0.0,
        reset: str = "never",
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.alpha = check("optimizer.alpha", alpha, at_least=0, below=1)
        self.epsilon = check("optimizer.epsilon", epsilon, above=0)  # padding has no gradient: 0 / 0
        self.weight_decay = check("optimizer.weight_decay", weight_decay, at_least=0)
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))

    def start(self, parameters: Tensors) -> dict[str, dict[str, Tensor]]:
        """The mean square, zero."""
        return {"square": {name: torch.zeros_like(value) for name, value in parameters.items()}}

    def update(
        self, parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors, now: Tensors
    ) -> None:
        """One step, in place."""
        update = run_by_run if kernels_serve(settings) else composed
        update(parameters, gradients, moments, settings)


def composed(parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors) -> None:
    """The step as tensor operations over whole packs."""
    for name, parameter in parameters.items():
        lr, alpha, epsilon, decay = (
            beside(settings[key].float(), parameter) for key in ("lr", "alpha", "epsilon", "weight_decay")
        )
        take = beside((1 - settings["alpha"]).float(), parameter)  # rounded after the subtraction
        gradient, square = gradients[name] + decay * parameter, moments["square"][name]
        square.mul_(alpha).add_(gradient * gradient * take)
        parameter.sub_(lr * gradient / (square.sqrt() + epsilon))


def run_by_run(parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors) -> None:
    """The step by PyTorch's kernel for Adam, there being none for RMSprop.

    With β₁ = 0 Adam's first moment is the gradient itself, and after infinitely many steps nothing is corrected. Two
    to ten times as fast as composed operations, by how much memory they have to fetch for what lies between them.
    """
    # What Adam would keep as its first moment is read nowhere. Zeros: whatever else lay there might be no number.
    unread = {name: torch.zeros_like(value) for name, value in parameters.items()}
    runs = slices(parameters, gradients, unread, moments["square"])
    counts = [torch.tensor(math.inf)] * len(parameters)
    for (own, gradient, first, square), (lr, alpha, epsilon, decay) in zip(
        runs, numbers(settings, "lr", "alpha", "epsilon", "weight_decay"), strict=True
    ):
        torch._fused_adam_(
            own, gradient, first, square, [], counts,
            lr=lr, beta1=0.0, beta2=alpha, weight_decay=decay, eps=epsilon, amsgrad=False, maximize=False,
        )  # fmt: skip
