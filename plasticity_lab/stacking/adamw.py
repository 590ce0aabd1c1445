"""AdamW: Adam, and weights that shrink a little at each step, in each run by its own factor."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.optimizer import Moments, Tensors
from plasticity_lab.stacking.run_axis import beside


class AdamW(Adam):
    """AdamW as PyTorch computes it.  Source: Loshchilov & Hutter 2019, Algorithm 2, with the decay times lr.

    All parameters shrink, including biases and learnable activation parameters, as by default in PyTorch.
    `reset`: never (the moments cross tasks) or task (they are reset).
    """

    kernel = Adam.kernel
    kernel_of_tensors = Adam.kernel_of_tensors
    fused_step: ClassVar[Any] = staticmethod(torch._fused_adamw_)  # pyright: ignore[reportPrivateImportUsage]

    def __init__(
        self,
        lr: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 1e-2,
        reset: str = "never",
        schedule: str = "constant",
        schedule_by: str = "task",
        warmup: float = 0.0,
        final: float = 0.0,
    ) -> None:
        super().__init__(lr, beta1, beta2, epsilon, reset, schedule, schedule_by, warmup, final)
        self.weight_decay = check("optimizer.weight_decay", weight_decay, at_least=0)

    def composed(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """The decay, then Adam's step."""
        kept = self.kept(settings)
        for parameter in parameters.values():
            parameter.mul_(beside(kept, parameter))
        super().composed(parameters, gradients, moments, settings, now)

    def kept(self, settings: Tensors) -> Tensor:
        """The factor that weight decay leaves of a parameter, (K,)."""
        return (1 - settings["lr"] * settings["weight_decay"]).float()
