"""RReLU: a random negative slope for each element."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site, check_bounds, gain_of_slope, slope_between
from plasticity_lab.activations.leaky_relu import leaky_relu
from plasticity_lab.component import check


class RReLU(Activation):
    """Slope r ~ U(lower, upper) below zero, for each element in training.  Source: Table B1; Xu et al. 2015.

    In evaluation the slope is the mean of the bounds, or `eval_slope`. torch.rrelu is not used: its numbers come from
    a global generator. The derivative at 0 is the slope, as there; lower = upper equals Leaky-ReLU bit for bit.
    """

    in_stack = "rrelu"
    randomised = True
    neutral = {"eval_slope": "mean"}

    def __init__(self, lower: float = 0.125, upper: float = 0.333, eval_slope: float | str = "mean") -> None:
        self.lower, self.upper = check_bounds(lower, upper)
        if isinstance(eval_slope, str):
            check("activation.eval_slope", eval_slope, one_of=("mean", "a number"))
        self.eval_slope = check("activation.eval_slope", eval_slope, at_least=0)
        self.in_stack = RReLU.in_stack if eval_slope == "mean" else None

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """An `eval_slope` equal to both bounds is the mean."""
        if settings["eval_slope"] == settings["lower"] == settings["upper"]:
            settings = {**settings, "eval_slope": "mean"}
        return super().canonical(settings)

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        if site.uniform is None and self.eval_slope != "mean":
            return leaky_relu(x, self.eval_slope)
        return leaky_relu(x, slope_between(site.shape["lower"], site.shape["upper"], site, x))

    def gain(self) -> float:
        """√(2 / (1 + slope²)) at the mean slope."""
        return gain_of_slope((self.lower + self.upper) / 2)
