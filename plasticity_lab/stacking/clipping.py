"""Gradient clipping, per run."""

from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.run_sums import power_of_two, run_sums


def clipped(gradients: Mapping[str, Tensor], limit_K: Tensor) -> dict[str, Tensor]:
    """The gradients, name → (K, ...), each run's scaled by min(1, limit / (norm + 1e-6)).

    The norm is the Euclidean one over all gradients of the run; where it is not finite, all of them become nan, so that
    a diverging run is seen to diverge. A limit of infinity clips nothing.
    Source: Pascanu et al. 2013; the 1e-6 is that of torch.nn.utils.clip_grad_norm_.
    """
    scale_K = (limit_K.to(torch.float32) / (norms(gradients) + 1e-6)).clamp(max=1.0)
    return {name: gradient * beside(scale_K, gradient) for name, gradient in gradients.items()}


def norms(gradients: Mapping[str, Tensor]) -> Tensor:
    """Each run's Euclidean norm over all gradients, (K,); its bits do not depend on the mates (`run_sums`)."""
    all_KN = torch.cat([gradient.flatten(1) for gradient in gradients.values()], dim=1)
    unit_K = power_of_two(all_KN.abs().amax(dim=1))  # squares of what is divided by it neither overflow nor vanish
    return unit_K * run_sums((all_KN / unit_K.unsqueeze(1)).square()).sqrt()
