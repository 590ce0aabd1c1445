"""Smooth-Leaky and Randomized Smooth-Leaky: a slope that turns smoothly into 1."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site, along_run_axis, check_bounds, slope_between
from plasticity_lab.component import check
from plasticity_lab.stacking.elementary import sigmoid


def smooth_leaky(x: Tensor, steepness: Tensor, slope: Tensor) -> Tensor:
    """a x + (1 − a) x · sigmoid(k x); a is the slope far to the left and k the steepness.  x (K, *) → like x.

    Its slope is a + (1 − a) g(k x) with g(u) = s(u) (1 + u (1 − s(u))), s the sigmoid. g falls to −0.0998 at u = −2.40,
    so the slope is always at least a − 0.0998 (1 − a), and positive everywhere if 0.0908 ≤ a < 11.
    """
    return x * (slope + (1 - slope) * sigmoid(steepness * x))


def quotient(c: float, p: float) -> Fraction:
    """c/p of the decimal numbers as typed: 0.1/0.3 equals 1/3."""
    return Fraction(str(c)) / Fraction(str(p))


class _ByQuotient(Activation):
    """An activation with settings c and p that depends on their quotient alone."""

    c: float
    p: float

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with the exact quotient in place of c and p."""
        others = {name: value for name, value in super().canonical(settings).items() if name not in ("c", "p")}
        return others | {"c_over_p": str(quotient(settings["c"], settings["p"]))}

    def on_run_axis(self) -> dict[str, float]:
        """The quotient, divided exactly: equal quotients give equal numbers in any spelling."""
        others = {name: value for name, value in super().on_run_axis().items() if name not in ("c", "p")}
        return {"steepness": float(quotient(self.c, self.p)), **others}


class SmoothLeaky(_ByQuotient):
    """α x + (1 − α) x · sigmoid(c x / p).  Source: Section 5, Table B1."""

    in_stack = "smooth_leaky"

    def __init__(self, c: float = 5.0, p: float = 3.0, alpha: float = 0.1) -> None:
        self.c = check("activation.c", c, above=0)
        self.p = check("activation.p", p, above=0)
        self.alpha = check("activation.alpha", alpha, at_least=0)

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        return smooth_leaky(x, along_run_axis(site.shape["steepness"], x), along_run_axis(site.shape["alpha"], x))


class RandomizedSmoothLeaky(_ByQuotient):
    """Smooth-Leaky with its slope ~ U(lower, upper) for each element in training, the mean in evaluation.

    lower = upper equals Smooth-Leaky bit for bit, for any random numbers.  Source: Section 5, Table B1.
    """

    in_stack = "randomized_smooth_leaky"
    randomised = True

    def __init__(self, c: float = 5.0, p: float = 3.0, lower: float = 0.3, upper: float = 1.0) -> None:
        self.c = check("activation.c", c, above=0)
        self.p = check("activation.p", p, above=0)
        self.lower, self.upper = check_bounds(lower, upper)

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        slope = slope_between(site.shape["lower"], site.shape["upper"], site, x)
        return smooth_leaky(x, along_run_axis(site.shape["steepness"], x), slope)
