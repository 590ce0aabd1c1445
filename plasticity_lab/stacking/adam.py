"""Adam with a learning rate, betas and epsilon per run."""

from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.stacking.optimizer import Optimizer

Tensors = Mapping[str, Tensor]


class Adam(Optimizer):
    """Adam as PyTorch computes it, over (K, ...) parameters.  Source: Kingma & Ba 2014, Algorithm 1.

    `reset`: never (the moments cross tasks, as published: notes of the paper's code) or task (they begin anew).
    """

    def __init__(
        self, lr: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, reset: str = "never"
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.beta1 = check("optimizer.beta1", beta1, at_least=0, below=1)
        self.beta2 = check("optimizer.beta2", beta2, at_least=0, below=1)
        self.epsilon = check("optimizer.epsilon", epsilon, at_least=0)
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))

    def start(self, parameters: Tensors) -> dict[str, dict[str, Tensor]]:
        """First and second moments, zero: {"first": name → like the parameter, "second": the same}."""
        return {
            moment: {name: torch.zeros_like(value) for name, value in parameters.items()}
            for moment in ("first", "second")
        }

    def corrections(self, settings: Tensors, first: int, steps: int) -> dict[str, Tensor]:
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

    def update(
        self, parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors, now: Tensors
    ) -> None:
        """One step, in place.  now: one row of `corrections`."""
        if torch.compiler.is_compiling() or settings["lr"].is_cuda:
            _update_composed(parameters, gradients, moments, settings, now)
        else:
            _update_run_by_run(parameters, gradients, moments, settings, now)


def _update_composed(
    parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors, now: Tensors
) -> None:
    for name, parameter in parameters.items():
        along = [parameter.shape[0]] + [1] * (parameter.dim() - 1)
        # 1 − β is rounded after the subtraction: from a rounded β₂ = 0.999 it would be off in its fifth digit.
        take1, take2 = ((1 - settings[beta]).float().view(along) for beta in ("beta1", "beta2"))
        beta2, epsilon = (settings[name].float().view(along) for name in ("beta2", "epsilon"))
        gradient, first, second = gradients[name], moments["first"][name], moments["second"][name]
        first.add_((gradient - first) * take1)
        second.mul_(beta2).add_(gradient * gradient * take2)
        root = second.sqrt() * now["root"].view(along) + epsilon
        parameter.sub_(now["size"].view(along) * first / root)


def _update_run_by_run(
    parameters: Tensors, gradients: Tensors, moments: Mapping[str, Tensors], settings: Tensors, now: Tensors
) -> None:
    """PyTorch's own fused CPU kernel on each run's slices: eager, four times faster than composed operations.

    One call a run, so that which elements its vector loop leaves to the scalar tail never depends on the mates. The
    kernel walks through memory as if everything were contiguous, which a gradient need not be.
    """
    dense = {name: gradients[name].contiguous() for name in parameters}
    rows = [zip(*(tensors[name].unbind() for name in parameters), strict=True)
            for tensors in (parameters, dense, moments["first"], moments["second"])]  # fmt: skip
    scalars = (settings[name].tolist() for name in ("lr", "beta1", "beta2", "epsilon"))
    counts = [now["count"]] * len(parameters)
    for own, gradient, first, second, lr, beta1, beta2, epsilon in zip(*rows, *scalars, strict=True):
        torch._fused_adam_(
            own, gradient, first, second, [], counts,
            lr=lr, beta1=beta1, beta2=beta2, weight_decay=0.0, eps=epsilon, amsgrad=False, maximize=False,
        )  # fmt: skip
