"""Activations that make one value of two, and their effect on the width of the layer before."""

from fractions import Fraction

from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.activations.concatenated import halved
from plasticity_lab.component import check

WIDTHS = ("double", "half")


class Gated(Activation):
    """φ(a, b), a and b the two halves of the input along the units or channels. A subclass writes `combined`.

    `width=double`: in a network designed for H features the layer before produces 2H and H are passed on; half: H are
    produced and H/2 passed on.
    """

    expansion = Fraction(1, 2)
    neutral = {"width": "double"}

    def __init__(self, width: str = "double") -> None:
        self.width = check("activation.width", width, one_of=WIDTHS)

    def produced(self, features: int) -> int:
        """2H for double, H otherwise.  Raises ConfigError for half of an odd H."""
        return 2 * features if self.width == "double" else 2 * halved(features, self.width)

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, B, D, ...) → (K, B, D/2, ...)."""
        return self.combined(*x.chunk(2, dim=2))

    def combined(self, a: Tensor, b: Tensor) -> Tensor:
        """a, b (K, B, D/2, ...) → like both."""
        raise NotImplementedError
