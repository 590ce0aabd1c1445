"""Stochastic gradient descent with a learning rate, momentum and weight decay per run."""

from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.stacking.optimizer import ByKernel, Optimizer, for_kernel
from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.run_by_run import kernels_serve, numbers, slices

Tensors = Mapping[str, Tensor]


class SGD(Optimizer):
    """v ← momentum · v + g + weight_decay · θ;  θ ← θ − lr · v, as PyTorch computes it: v is no average.

    Source: Polyak 1964; Sutskever et al. 2013 write lr inside v, which differs only where lr changes. A run without
    momentum keeps a v too, so that it can share a pack with one that has it. `reset`: never (v crosses tasks) or task.
    """

    by_kernel = ByKernel("linear_sgd", ("velocity",))

    def __init__(
        self, lr: float = 1e-2, momentum: float = 0.0, weight_decay: float = 0.0, reset: str = "never"
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.momentum = check("optimizer.momentum", momentum, at_least=0, below=1)
        self.weight_decay = check("optimizer.weight_decay", weight_decay, at_least=0)
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))

    def start(self, parameters: Tensors) -> dict[str, dict[str, Tensor]]:
        """The velocity, zero: from there a step is the same as PyTorch's first, which copies the gradient."""
        return {"velocity": {name: torch.zeros_like(value) for name, value in parameters.items()}}

    def update(
        self, parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors, now: Tensors
    ) -> None:
        """One step, in place."""
        update = run_by_run if kernels_serve(settings) else composed
        update(parameters, gradients, moments, settings)

    def kernel_numbers(self, settings: Tensors, now: Tensors) -> Tensor:
        """Three of its settings."""
        return for_kernel(*(settings[key] for key in ("lr", "momentum", "weight_decay")))


def composed(parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors) -> None:
    """The step as tensor operations over whole packs."""
    for name, parameter in parameters.items():
        lr, momentum, decay = (beside(settings[key].float(), parameter) for key in ("lr", "momentum", "weight_decay"))
        velocity = moments["velocity"][name]
        velocity.mul_(momentum).add_(gradients[name] + decay * parameter)
        parameter.sub_(lr * velocity)


def run_by_run(parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors) -> None:
    """The step by PyTorch's own kernel."""
    runs = slices(parameters, gradients, moments["velocity"])
    for (own, gradient, velocity), (lr, momentum, decay) in zip(
        runs, numbers(settings, "lr", "momentum", "weight_decay"), strict=True
    ):
        torch._fused_sgd_(
            own, gradient, velocity if momentum else [],  # without momentum the kernel takes no velocity
            lr=lr, momentum=momentum, weight_decay=decay, dampening=0.0, nesterov=False, maximize=False,
            is_first_step=False,
        )  # fmt: skip
