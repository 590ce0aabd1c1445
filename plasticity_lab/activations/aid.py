"""AID: dropout with one probability for positive values and another for negative ones."""

from math import sqrt

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site, along_run_axis
from plasticity_lab.component import check


class AID(Activation):
    """In training x > 0 stays with probability p, other x with 1 − p; evaluation: p·x and (1 − p)·x.

    Nothing is rescaled, and each element has its own draw. The derivative at 0 is the lower side's, so p = 1 is ReLU
    bit for bit; p = 1/2 is x/2 in evaluation. docs/pages/reference/activations.md lists the details.
    Source: Park et al. 2025 (ICML), "Activation by Interval-wise Dropout".
    """

    randomised = True

    def __init__(self, p: float = 0.9) -> None:
        self.p = check("activation.p", p, at_least=0, at_most=1)

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        upper = along_run_axis(site.shape["p"], x)
        if site.uniform is not None:
            upper = (site.uniform < upper).to(x.dtype)
        positive = torch.relu(torch.sign(x.detach()))  # the mask of `leaky_relu`
        return x * (positive * upper + (1 - positive) * (1 - upper))

    def gain(self) -> float:
        """√2, ReLU's: in training E[φ(z)²] is p/2 + (1 − p)/2 = 1/2 for every p."""
        return sqrt(2)
