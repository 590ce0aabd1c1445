"""RMSprop with a learning rate, alpha, epsilon and weight decay per run."""

import math

import torch

from plasticity_lab.component import check
from plasticity_lab.stacking.optimizer import Moments, Tensors, WithFusedStep, run_settings, run_slices
from plasticity_lab.stacking.run_axis import beside


class RMSprop(WithFusedStep):
    """v ← α · v + (1 − α) · g²;  θ ← θ − lr · g / (√v + ε); g includes weight_decay · θ.

    Source: Tieleman & Hinton 2012, lecture 6.5; ε is outside the root, as in PyTorch. Neither centred nor with
    momentum. `reset`: never (v crosses tasks) or task.
    """

    moments = ("square",)

    def __init__(
        self,
        lr: float = 1e-3,
        alpha: float = 0.99,
        epsilon: float = 1e-8,
        weight_decay: float = 0.0,
        reset: str = "never",
        schedule: str = "constant",
        schedule_by: str = "task",
        warmup: float = 0.0,
        final: float = 0.0,
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.alpha = check("optimizer.alpha", alpha, at_least=0, below=1)
        self.epsilon = check("optimizer.epsilon", epsilon, above=0)  # padding has no gradient: 0 / 0
        self.weight_decay = check("optimizer.weight_decay", weight_decay, at_least=0)
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))
        self.set_schedule(schedule, schedule_by, warmup, final)

    def composed(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """The step as tensor operations over whole packs."""
        for name, parameter in parameters.items():
            lr, alpha, epsilon, decay = (
                beside(settings[key].float(), parameter) for key in ("lr", "alpha", "epsilon", "weight_decay")
            )
            take = beside((1 - settings["alpha"]).float(), parameter)  # rounded after the subtraction
            gradient, square = gradients[name] + decay * parameter, moments["square"][name]
            square.mul_(alpha).add_(gradient * gradient * take)
            parameter.sub_(lr * gradient / (square.sqrt() + epsilon))

    def run_by_run(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """The step by PyTorch's fused kernel for Adam, since PyTorch has none for RMSprop.

        With β₁ = 0 the first moment of Adam is the gradient, and after infinitely many steps its corrections are 1.
        """
        # The kernel reads the first moment and multiplies it by 0: uninitialised memory might hold a nan.
        unread = {name: torch.zeros_like(value) for name, value in parameters.items()}
        runs = run_slices(parameters, gradients, unread, moments["square"])
        counts = [torch.tensor(math.inf)] * len(parameters)
        for (own, gradient, first, square), (lr, alpha, epsilon, decay) in zip(
            runs, run_settings(settings, "lr", "alpha", "epsilon", "weight_decay"), strict=True
        ):
            torch._fused_adam_(  # pyright: ignore[reportPrivateImportUsage]
                own, gradient, first, square, [], counts,
                lr=lr, beta1=0.0, beta2=alpha, weight_decay=decay, eps=epsilon, amsgrad=False, maximize=False,
            )  # fmt: skip
