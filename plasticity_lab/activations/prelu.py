"""PReLU and Bo-PReLU: a negative slope that is learned, freely or between bounds."""

from math import log

from torch import Tensor

from plasticity_lab.activations.activation import Activation, Learnable, Site, along_run_axis, gain_of_slope
from plasticity_lab.activations.leaky_relu import leaky_relu
from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.stacking.elementary import sigmoid

SCOPES = ("global", "layer", "neuron")
"""The units that share a slope: all units, a layer's units, or none (in a convolution a channel's pixels share one)."""


def of_scope(scope: str, start: float, produced: int) -> Learnable:
    """A learnable value of this scope at a layer that produces this many units or channels."""
    return Learnable([start] * (produced if scope == "neuron" else 1), shared=scope == "global")


class PReLU(Activation):
    """A learned slope below zero.  Source: Table B1; He et al. 2015."""

    def __init__(self, scope: str = "global", alpha_init: float = 0.25) -> None:
        self.scope = check("activation.scope", scope, one_of=SCOPES)
        self.alpha_init = check("activation.alpha_init", alpha_init, at_least=0)

    def on_run_axis(self) -> dict[str, float]:
        """Nothing: the learned value holds the initial slope."""
        return {}

    def learnable(self, produced: int) -> dict[str, Learnable]:
        """The slope, (1,) or (produced,)."""
        return {"slope": of_scope(self.scope, self.alpha_init, produced)}

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        return leaky_relu(x, along_run_axis(site.learned["slope"], x))

    def gain(self) -> float:
        """√(2 / (1 + slope²)) at the initial slope.  Source: He et al. 2015, Appendix B."""
        return gain_of_slope(self.alpha_init)


class BoundedPReLU(Activation):
    """PReLU with slope α_min + (α_max − α_min) · sigmoid(raw), raw learned.  Source: Appendix G.1, eqs. 7 and 8.

    raw starts at the slope `alpha_init`, which must lie strictly between the bounds: at a bound raw is infinite.
    """

    def __init__(
        self, scope: str = "global", alpha_init: float = 0.25, alpha_min: float = 0.01, alpha_max: float = 1.0
    ) -> None:
        self.scope = check("activation.scope", scope, one_of=SCOPES)
        self.alpha_min = check("activation.alpha_min", alpha_min, at_least=0)
        self.alpha_max = alpha_max
        self.alpha_init = alpha_init
        if not alpha_min < alpha_init < alpha_max:
            raise ConfigError(
                f"activation.alpha_init is {alpha_init}; it must lie strictly between "
                f"activation.alpha_min ({alpha_min}) and activation.alpha_max ({alpha_max})."
            )

    def on_run_axis(self) -> dict[str, float]:
        """The bounds. The learned value holds the initial slope."""
        return {"alpha_min": self.alpha_min, "alpha_max": self.alpha_max}

    def learnable(self, produced: int) -> dict[str, Learnable]:
        """The unbounded value behind the slope, (1,) or (produced,)."""
        raw = log(self.alpha_init - self.alpha_min) - log(self.alpha_max - self.alpha_init)
        return {"raw": of_scope(self.scope, raw, produced)}

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        lowest, highest = site.shape["alpha_min"].unsqueeze(1), site.shape["alpha_max"].unsqueeze(1)
        slope = lowest + (highest - lowest) * sigmoid(site.learned["raw"])
        return leaky_relu(x, along_run_axis(slope, x))

    def gain(self) -> float:
        """√(2 / (1 + slope²)) at the initial slope.  Source: He et al. 2015, Appendix B."""
        return gain_of_slope(self.alpha_init)
