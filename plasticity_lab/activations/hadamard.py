"""The Hadamard representation: the product of two hyperbolic tangents."""

from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.activations.gated import Gated
from plasticity_lab.activations.tanh import Tanh
from plasticity_lab.stacking.elementary import tanh


class Hadamard(Gated):
    """tanh(a) · tanh(b): with `width=double` a layer of twice the weights, as in the paper.

    Source: Kooi et al. 2024, "Hadamard representations". docs/pages/reference/activations.md lists the details.
    """

    def combined(self, a: Tensor, b: Tensor) -> Tensor:
        """a, b (K, B, D/2, ...) → like both."""
        return tanh(a) * tanh(b)

    def gain(self) -> float:
        """1 / E[tanh(z)²], z ~ N(0, 1): the halves are independent, so E[(tanh(a) tanh(b))²] = E[tanh(z)²]²."""
        return Activation.gain(Tanh()) ** 2
