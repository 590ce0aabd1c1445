"""Adam with a learning rate, betas and epsilon per run."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.stacking.decays import steps_to_settle
from plasticity_lab.stacking.optimizer import Moments, Tensors, WithFusedStep, for_kernel, run_settings, run_slices
from plasticity_lab.stacking.run_axis import beside


class Adam(WithFusedStep):
    """Adam as PyTorch computes it, over (K, ...) parameters.  Source: Kingma & Ba 2014, Algorithm 1.

    `reset`: never (the moments cross tasks, as published: notes of the paper's code) or task (they are reset).
    """

    moments = ("first", "second")
    kernel = "linear_adam"
    kernel_of_tensors = "adam"
    of_rate = ("size",)
    fused_step: ClassVar[Any] = staticmethod(torch._fused_adam_)  # pyright: ignore[reportPrivateImportUsage]

    def __init__(
        self,
        lr: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        reset: str = "never",
        schedule: str = "constant",
        schedule_by: str = "task",
        warmup: float = 0.0,
        final: float = 0.0,
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.beta1 = check("optimizer.beta1", beta1, at_least=0, below=1)
        self.beta2 = check("optimizer.beta2", beta2, at_least=0, below=1)
        self.epsilon = check("optimizer.epsilon", epsilon, above=0)  # padding has no gradient: 0 / 0
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))
        self.set_schedule(schedule, schedule_by, warmup, final)

    def corrections(self, settings: Tensors, first: int, steps: int) -> dict[str, Tensor]:
        """size (S, K): lr / (1 − β₁ᵗ); root (S, K): 1 / √(1 − β₂ᵗ); count (S,): t.

        They are computed in float64 and given as data: compiled, a power would be computed for every element.
        """
        t = torch.arange(first, first + steps, dtype=torch.float64, device=settings["lr"].device).unsqueeze(1)
        lr, beta1, beta2 = (settings[name] for name in ("lr", "beta1", "beta2"))
        return {
            "size": (lr / (1 - beta1**t)).float(),
            "root": (1 - beta2**t).rsqrt().float(),
            "count": t.squeeze(1).float(),
        }

    def settled(self, settings: Tensors) -> int:
        """The number of steps after which the corrections are constant, for both betas of all runs."""
        return steps_to_settle(settings["beta1"], settings["beta2"])

    def composed(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """The step as tensor operations over whole packs."""
        for name, parameter in parameters.items():
            # 1 − β is rounded after the subtraction: from a rounded β₂ = 0.999 its fifth digit would be wrong.
            take1, take2 = (beside((1 - settings[beta]).float(), parameter) for beta in ("beta1", "beta2"))
            beta2, epsilon = (beside(settings[key].float(), parameter) for key in ("beta2", "epsilon"))
            gradient, first, second = gradients[name], moments["first"][name], moments["second"][name]
            first.add_((gradient - first) * take1)
            second.mul_(beta2).add_(gradient * gradient * take2)
            root = second.sqrt() * beside(now["root"], parameter) + epsilon
            parameter.sub_(beside(now["size"], parameter) * first / root)

    def run_by_run(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """The step by PyTorch's fused kernel, one run after the other."""
        settings = {"weight_decay": torch.zeros_like(settings["lr"]), **settings}
        runs = run_slices(parameters, gradients, moments["first"], moments["second"])
        counts = now["count"].expand(len(settings["lr"])).unbind()
        numbers = run_settings(settings, "lr", "beta1", "beta2", "epsilon", "weight_decay")
        for (own, gradient, first, second), count, (lr, beta1, beta2, epsilon, decay) in zip(
            runs, counts, numbers, strict=True
        ):
            self.fused_step(
                own, gradient, first, second, [], [count] * len(own),
                lr=lr, beta1=beta1, beta2=beta2, weight_decay=decay, eps=epsilon, amsgrad=False, maximize=False,
            )  # fmt: skip

    def kernel_numbers(self, settings: Tensors, now: Tensors) -> Tensor:
        """(K, 7)."""
        take1, take2 = (1 - settings[beta] for beta in ("beta1", "beta2"))
        rest = (settings["beta2"], settings["epsilon"], now["size"], now["root"], self.kept(settings))
        return for_kernel(take1, take2, *rest)

    def kept(self, settings: Tensors) -> Tensor:
        """The factor that weight decay leaves of a parameter, (K,): 1 without decay."""
        return torch.ones_like(settings["lr"])
