"""AdamW: Adam, and weights that shrink a little at each step, each run by its own share."""

from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.stacking import adam
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.run_by_run import kernels_serve, numbers, slices

Tensors = Mapping[str, Tensor]


class AdamW(Optimizer):
    """AdamW as PyTorch computes it.  Source: Loshchilov & Hutter 2019, Algorithm 2, with the decay times lr.

    All parameters shrink, biases and learnable activation parameters too, as PyTorch does by default.
    `reset`: never (the moments cross tasks) or task (they begin anew).
    """

    by_kernel = adam.Adam.by_kernel

    def __init__(
        self,
        lr: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 1e-2,
        reset: str = "never",
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.beta1 = check("optimizer.beta1", beta1, at_least=0, below=1)
        self.beta2 = check("optimizer.beta2", beta2, at_least=0, below=1)
        self.epsilon = check("optimizer.epsilon", epsilon, above=0)  # padding has no gradient: 0 / 0
        self.weight_decay = check("optimizer.weight_decay", weight_decay, at_least=0)
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))

    def start(self, parameters: Tensors) -> dict[str, dict[str, Tensor]]:
        """First and second moments, zero."""
        return adam.two_moments(parameters)

    def corrections(self, settings: Tensors, first: int, steps: int) -> dict[str, Tensor]:
        """Adam's."""
        return adam.bias_corrections(settings, first, steps)

    def settled(self, settings: Tensors) -> int:
        """When 1 − βᵗ is 1 to float32."""
        return adam.settled(settings)

    def update(
        self, parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors, now: Tensors
    ) -> None:
        """One step, in place.  now: one row of `corrections`."""
        update = run_by_run if kernels_serve(settings) else composed
        update(parameters, gradients, moments, settings, now)

    def kernel_numbers(self, settings: Tensors, now: Tensors) -> Tensor:
        """Adam's, and what the decay leaves."""
        return adam.kernel_numbers(settings, now, kept_of(settings))


def kept_of(settings: Tensors) -> Tensor:
    """What the decay leaves of a parameter, (K,)."""
    return (1 - settings["lr"] * settings["weight_decay"]).float()


def composed(
    parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors, now: Tensors
) -> None:
    """The step as tensor operations over whole packs."""
    kept = kept_of(settings)
    for parameter in parameters.values():
        parameter.mul_(beside(kept, parameter))
    adam.composed(parameters, gradients, moments, settings, now)


def run_by_run(
    parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors, now: Tensors
) -> None:
    """The step by PyTorch's own kernel."""
    runs = slices(parameters, gradients, moments["first"], moments["second"])
    counts = now["count"].expand(len(settings["lr"])).unbind()
    for (own, gradient, first, second), count, (lr, beta1, beta2, epsilon, decay) in zip(
        runs, counts, numbers(settings, "lr", "beta1", "beta2", "epsilon", "weight_decay"), strict=True
    ):
        torch._fused_adamw_(
            own, gradient, first, second, [], [count] * len(own),
            lr=lr, beta1=beta1, beta2=beta2, weight_decay=decay, eps=epsilon, amsgrad=False, maximize=False,
        )  # fmt: skip
