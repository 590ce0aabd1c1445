"""SELU with α free, and R-SELU, which draws it."""

from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site, along_run_axis, check_bounds, slope_between
from plasticity_lab.activations.elu import elu
from plasticity_lab.component import check

LAMBDA = 1.0507009873554804934193349852946
"""The scale that keeps activations at mean 0 and variance 1 for α = 1.6732632.  Source: Klambauer et al. 2017."""


class SELU(Activation):
    """λ x for x > 0, λ α (e^x − 1) otherwise, λ fixed.  Source: Table B1; Klambauer et al. 2017.

    The default is the paper's 1.673, not the longer constant: it is the value in its tables.
    """

    in_stack = "selu"

    def __init__(self, alpha: float = 1.673) -> None:
        self.alpha = check("activation.alpha", alpha, at_least=0)

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        return LAMBDA * elu(x, along_run_axis(site.shape["alpha"], x))


class RandomizedSELU(Activation):
    """SELU with α ~ U(lower, upper) for each element in training, the mean in evaluation.

    Source: Appendix G.2, eq. 9.  lower = upper equals SELU at that α bit for bit, for any random numbers.
    """

    in_stack = "randomized_selu"
    randomised = True

    def __init__(self, lower: float = 1.168, upper: float = 2.178) -> None:
        self.lower, self.upper = check_bounds(lower, upper)

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        return LAMBDA * elu(x, slope_between(site.shape["lower"], site.shape["upper"], site, x))
