"""Sigmoid, in the form that the other activations use."""

from torch import Tensor
from torch.nn.functional import threshold

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.stacking.elementary import exp


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + e^−x), to the last digits in both tails.  x of any shape → like x.

    Not torch.sigmoid: its values depend on the place in the tensor (see `Activation`). The threshold is max(x, −88)
    (torch.clamp has a slow backward on CPU). It keeps e^−x finite, and with it the gradient e^−x / (1 + e^−x)². The
    gradient is 0 if it would be below 1e-19 on the left.
    """
    return (exp(-threshold(x, -88.0, -88.0)) + 1).reciprocal()


class Sigmoid(Activation):
    """1 / (1 + e^−x).  Source: Table B1."""

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        return sigmoid(x)

    def gain(self) -> float:
        """1.  Source: Dohare et al. 2024, and torch.nn.init.calculate_gain."""
        return 1.0
