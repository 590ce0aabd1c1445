"""Gradient clipping, per run."""

from collections.abc import Mapping
from math import inf, nan

import torch
from torch import Tensor

from plasticity_lab.stacking.exact_sums import run_sums
from plasticity_lab.stacking.run_axis import beside


def clipped(gradients: Mapping[str, Tensor], limit_K: Tensor) -> dict[str, Tensor]:
    """The gradients, name → (K, ...), each run's scaled by min(1, limit / (norm + 1e-6)).

    The norm is the Euclidean one over all gradients of the run; where it is not finite in float32, all of them become
    nan, so that a diverging run is seen to diverge. A limit of infinity clips nothing.
    Source: Pascanu et al. 2013; the 1e-6 is that of torch.nn.utils.clip_grad_norm_.
    """
    norm_K = norms(gradients)
    scale_K = (limit_K.to(torch.float32) / (norm_K + 1e-6)).clamp(max=1.0)
    scale_K = torch.where(norm_K < inf, scale_K, nan)
    return {name: gradient * beside(scale_K, gradient) for name, gradient in gradients.items()}


def norms(gradients: Mapping[str, Tensor]) -> Tensor:
    """Each run's Euclidean norm over all gradients, (K,); its bits do not depend on the mates (`exact_sums`).

    The sums of the tensors are added one after the other: side by side in one tensor they would be copied, and with a
    copy among its steps torch 2.13 cannot compile some updates (a KeyError of inductor's).
    """
    return sum(run_sums(gradient.square()) for gradient in gradients.values()).sqrt()
