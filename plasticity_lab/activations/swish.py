"""Swish (SiLU where β = 1)."""

from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site, along_run_axis
from plasticity_lab.component import check
from plasticity_lab.stacking.elementary import sigmoid


def swish(x: Tensor, beta: Tensor | float = 1.0) -> Tensor:
    """x · sigmoid(β x).  x (K, *), beta broadcastable to it → like x."""
    return x * sigmoid(beta * x)


class Swish(Activation):
    """x · sigmoid(β x).  Source: Table B1; Ramachandran et al. 2017.  β = 0 is the line x/2."""

    in_stack = "swish"

    def __init__(self, beta: float = 1.0) -> None:
        self.beta = check("activation.beta", beta, at_least=0)

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        return swish(x, along_run_axis(site.shape["beta"], x))
