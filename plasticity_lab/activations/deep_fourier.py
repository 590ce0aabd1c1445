"""Deep Fourier features: sine and cosine of the input."""

from math import sqrt

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Site
from plasticity_lab.activations.concatenated import Concatenated
from plasticity_lab.stacking.elementary import sin_and_cos


class DeepFourier(Concatenated):
    """[sin x, cos x].  Source: Table B1; Lewandowski et al. 2024."""

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, B, D, ...) → (K, B, 2D, ...)."""
        return torch.cat(sin_and_cos(x), dim=2)

    def gain(self) -> float:
        """√2: sin² + cos² = 1, so the mean square of the two is 1/2 whatever the input."""
        return sqrt(2)
