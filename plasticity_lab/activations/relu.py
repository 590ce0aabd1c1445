"""ReLU."""

from math import sqrt

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site


class ReLU(Activation):
    """max(x, 0).  Source: Nair & Hinton 2010."""

    in_stack = "relu"

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        return torch.relu(x)

    def gain(self) -> float:
        """√2.  Source: He et al. 2015."""
        return sqrt(2)
