"""Adam with a learning rate, betas and epsilon per run."""

from collections.abc import Mapping
from math import ceil, log

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.stacking.optimizer import ByKernel, Optimizer, for_kernel
from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.run_by_run import kernels_serve, numbers, slices

Tensors = Mapping[str, Tensor]


class Adam(Optimizer):
    """Adam as PyTorch computes it, over (K, ...) parameters.  Source: Kingma & Ba 2014, Algorithm 1.

    `reset`: never (the moments cross tasks, as published: notes of the paper's code) or task (they begin anew).
    """

    by_kernel = ByKernel("linear_adam", ("first", "second"))

    def __init__(
        self, lr: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, reset: str = "never"
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.beta1 = check("optimizer.beta1", beta1, at_least=0, below=1)
        self.beta2 = check("optimizer.beta2", beta2, at_least=0, below=1)
        self.epsilon = check("optimizer.epsilon", epsilon, above=0)  # padding has no gradient: 0 / 0
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))

    def start(self, parameters: Tensors) -> dict[str, dict[str, Tensor]]:
        """First and second moments, zero: {"first": name → like the parameter, "second": the same}."""
        return two_moments(parameters)

    def corrections(self, settings: Tensors, first: int, steps: int) -> dict[str, Tensor]:
        """See `bias_corrections`."""
        return bias_corrections(settings, first, steps)

    def settled(self, settings: Tensors) -> int:
        """When 1 − βᵗ is 1 to float32."""
        return settled(settings)

    def update(
        self, parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors, now: Tensors
    ) -> None:
        """One step, in place.  now: one row of `corrections`."""
        update = run_by_run if kernels_serve(settings) else composed
        update(parameters, gradients, moments, settings, now)

    def kernel_numbers(self, settings: Tensors, now: Tensors) -> Tensor:
        """Adam's; nothing decays."""
        return kernel_numbers(settings, now, torch.ones_like(settings["lr"]))


def two_moments(parameters: Tensors) -> dict[str, dict[str, Tensor]]:
    """First and second moments, zero: {"first": name → like the parameter, "second": the same}."""
    return {
        moment: {name: torch.zeros_like(value) for name, value in parameters.items()} for moment in ("first", "second")
    }


def bias_corrections(settings: Tensors, first: int, steps: int) -> dict[str, Tensor]:
    """What depends on the step count alone, for steps first … first + steps − 1 (counted from 1), as data.

    size (S, K): lr / (1 − β₁ᵗ); root (S, K): 1 / √(1 − β₂ᵗ); count (S,): t. Taken in float64: a power inside a
    compiled step would be computed for every element.
    """
    t = torch.arange(first, first + steps, dtype=torch.float64, device=settings["lr"].device).unsqueeze(1)
    lr, beta1, beta2 = (settings[name] for name in ("lr", "beta1", "beta2"))
    return {
        "size": (lr / (1 - beta1**t)).float(),
        "root": (1 - beta2**t).rsqrt().float(),
        "count": t.squeeze(1).float(),
    }


def settled(settings: Tensors) -> int:
    """After how many steps βᵗ is below 2⁻²⁶ for both betas of all runs, at most a million."""
    largest = max(float(settings[name].max()) for name in ("beta1", "beta2"))
    return min(10**6, 1 if largest <= 0 else ceil(-26 * log(2) / log(largest)))


def composed(
    parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors, now: Tensors
) -> None:
    """The step as tensor operations over whole packs."""
    for name, parameter in parameters.items():
        # 1 − β is rounded after the subtraction: from a rounded β₂ = 0.999 it would be off in its fifth digit.
        take1, take2 = (beside((1 - settings[beta]).float(), parameter) for beta in ("beta1", "beta2"))
        beta2, epsilon = (beside(settings[key].float(), parameter) for key in ("beta2", "epsilon"))
        gradient, first, second = gradients[name], moments["first"][name], moments["second"][name]
        first.add_((gradient - first) * take1)
        second.mul_(beta2).add_(gradient * gradient * take2)
        root = second.sqrt() * beside(now["root"], parameter) + epsilon
        parameter.sub_(beside(now["size"], parameter) * first / root)


def kernel_numbers(settings: Tensors, now: Tensors, kept: Tensor) -> Tensor:
    """What the kernel gets, (K, 7).  kept (K,): what decay leaves of a parameter."""
    take1, take2 = (1 - settings[beta] for beta in ("beta1", "beta2"))
    return for_kernel(take1, take2, settings["beta2"], settings["epsilon"], now["size"], now["root"], kept)


def run_by_run(
    parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors, now: Tensors
) -> None:
    """The step by PyTorch's own kernel."""
    runs = slices(parameters, gradients, moments["first"], moments["second"])
    counts = now["count"].expand(len(settings["lr"])).unbind()
    for (own, gradient, first, second), count, (lr, beta1, beta2, epsilon) in zip(
        runs, counts, numbers(settings, "lr", "beta1", "beta2", "epsilon"), strict=True
    ):
        torch._fused_adam_(
            own, gradient, first, second, [], [count] * len(own),
            lr=lr, beta1=beta1, beta2=beta2, weight_decay=0.0, eps=epsilon, amsgrad=False, maximize=False,
        )  # fmt: skip
