"""SwiGLU: one half of the input gates the other."""

from fractions import Fraction

from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.activations.concatenated import halved
from plasticity_lab.activations.swish import Swish, swish
from plasticity_lab.component import check

WIDTHS = ("double", "half")


class SwiGLU(Activation):
    """a · swish(b), a and b the two halves of the input along the units or channels.  Source: Shazeer 2020.

    The paper gives no detail. `width=double`: in a network designed for H features the layer before produces 2H and H
    are passed on; half: H are produced and H/2 passed on. No projection follows it.
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
        value, gate = x.chunk(2, dim=2)
        return value * swish(gate)

    def gain(self) -> float:
        """The gain of Swish with β = 1: the halves are independent, so E[(a swish(b))²] = E[a²] E[swish(b)²]."""
        return Swish().gain()
