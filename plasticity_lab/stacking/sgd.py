"""Stochastic gradient descent with a learning rate, momentum and weight decay per run."""

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.stacking.optimizer import Moments, Tensors, WithFusedStep, for_kernel, run_settings, run_slices
from plasticity_lab.stacking.run_axis import beside


class SGD(WithFusedStep):
    """v ← momentum · v + g + weight_decay · θ;  θ ← θ − lr · v, as PyTorch computes it: v is not an average.

    Source: Polyak 1964; Sutskever et al. 2013 write lr inside v, which differs only if lr changes. A run without
    momentum has a v too, so that it can share a pack with a run with momentum. v starts at zero: so the first step is
    PyTorch's, which copies the gradient. `reset`: never (v crosses tasks) or task.
    """

    moments = ("velocity",)
    kernel = "linear_sgd"

    def __init__(
        self,
        lr: float = 1e-2,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        reset: str = "never",
        schedule: str = "constant",
        schedule_by: str = "task",
        warmup: float = 0.0,
        final: float = 0.0,
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.momentum = check("optimizer.momentum", momentum, at_least=0, below=1)
        self.weight_decay = check("optimizer.weight_decay", weight_decay, at_least=0)
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))
        self.set_schedule(schedule, schedule_by, warmup, final)

    def composed(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """The step as tensor operations over whole packs."""
        for name, parameter in parameters.items():
            lr, momentum, decay = (
                beside(settings[key].float(), parameter) for key in ("lr", "momentum", "weight_decay")
            )
            velocity = moments["velocity"][name]
            velocity.mul_(momentum).add_(gradients[name] + decay * parameter)
            parameter.sub_(lr * velocity)

    def run_by_run(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """The step by PyTorch's fused kernel, one run after the other."""
        runs = run_slices(parameters, gradients, moments["velocity"])
        for (own, gradient, velocity), (lr, momentum, decay) in zip(
            runs, run_settings(settings, "lr", "momentum", "weight_decay"), strict=True
        ):
            torch._fused_sgd_(  # pyright: ignore[reportPrivateImportUsage]
                own, gradient, velocity if momentum else [],  # without momentum the kernel takes no velocity
                lr=lr, momentum=momentum, weight_decay=decay, dampening=0.0, nesterov=False, maximize=False,
                is_first_step=False,
            )  # fmt: skip

    def kernel_numbers(self, settings: Tensors, now: Tensors) -> Tensor:
        """(K, 3)."""
        return for_kernel(*(settings[key] for key in ("lr", "momentum", "weight_decay")))
