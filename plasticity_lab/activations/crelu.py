"""CReLU: both signs of the input, each through a ReLU."""

from math import sqrt

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Site
from plasticity_lab.activations.concatenated import Concatenated


class CReLU(Concatenated):
    """[max(x, 0), max(−x, 0)].  Source: Appendix B.3; Shang et al. 2016, Abbas et al. 2023."""

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, B, D, ...) → (K, B, 2D, ...)."""
        return torch.cat([torch.relu(x), torch.relu(-x)], dim=2)

    def gain(self) -> float:
        """√2: each half is a ReLU.  Source: He et al. 2015."""
        return sqrt(2)
