"""ELU, and functions that its family shares."""

import torch
from torch import Tensor
from torch.nn.functional import threshold

from plasticity_lab.activations.activation import Activation, Site, along_run_axis
from plasticity_lab.component import check
from plasticity_lab.stacking.elementary import exp_minus_one


def negative_part(x: Tensor) -> Tensor:
    """min(x, 0), with derivative 1 at 0.  x of any shape → like x.

    torch.clamp gives the same numbers, but has a slow backward on CPU. The threshold is the smallest number that is not
    0, so that 0 itself is on the side with derivative 1.
    """
    return -threshold(-x, -torch.finfo(x.dtype).tiny, 0.0)


def elu(x: Tensor, alpha: Tensor | float) -> Tensor:
    """x for x > 0, α (e^x − 1) otherwise.  x (K, *), alpha broadcastable to it → like x.

    Not torch's elu: its values depend on the place in the tensor (see `Activation`).
    """
    return torch.relu(x) + alpha * exp_minus_one(negative_part(x))


class ELU(Activation):
    """x for x > 0, α (e^x − 1) otherwise.  Source: Table B1; Clevert et al. 2016."""

    in_stack = "elu"

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = check("activation.alpha", alpha, at_least=0)

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        return elu(x, along_run_axis(site.shape["alpha"], x))
