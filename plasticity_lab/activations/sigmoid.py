"""Sigmoid: the function of `stacking.elementary`, which other activations use too."""

from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.stacking.elementary import sigmoid


class Sigmoid(Activation):
    """1 / (1 + e^−x).  Source: Table B1."""

    in_stack = "sigmoid"

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        return sigmoid(x)

    def gain(self) -> float:
        """1.  Source: Dohare et al. 2024, and torch.nn.init.calculate_gain."""
        return 1.0
