"""Tanh."""

from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.stacking.elementary import tanh


class Tanh(Activation):
    """The hyperbolic tangent.  Source: Table B1."""

    in_stack = "tanh"

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        return tanh(x)

    def gain(self) -> float:
        """5/3.  Source: Dohare et al. 2024, and torch.nn.init.calculate_gain."""
        return 5 / 3
