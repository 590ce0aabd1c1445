"""SwiGLU: one half of the input gates the other."""

from torch import Tensor

from plasticity_lab.activations.gated import Gated
from plasticity_lab.activations.swish import Swish, swish


class SwiGLU(Gated):
    """a · swish(b).  Source: Shazeer 2020.

    The paper gives no detail. No projection follows it.
    """

    def combined(self, a: Tensor, b: Tensor) -> Tensor:
        """a, b (K, B, D/2, ...) → like both."""
        return a * swish(b)

    def gain(self) -> float:
        """The gain of Swish with β = 1: the halves are independent, so E[(a swish(b))²] = E[a²] E[swish(b)²]."""
        return Swish().gain()
