"""Activations that pass on two values for each one they receive, and their effect on the width of the layer before."""

from fractions import Fraction

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError

WIDTHS = ("half", "matched", "double")


def halved(features: int, width: str) -> int:
    """features / 2.  Raises ConfigError if they are odd."""
    if features % 2:
        raise ConfigError(
            f"activation.width={width} halves the network's width, which is {features}; "
            f"choose an even network width, or another activation.width."
        )
    return features // 2


class Concatenated(Activation):
    """φ(x) = [φ₁(x), φ₂(x)] along the units or channels, in a network designed for H features.

    `width` sets the widths. half: the layer before produces H/2, so every interface keeps its size and the network
    about half its parameters (Appendix B.3 calls it capacity-neutral, and uses it). matched: the network trims H until
    it has as many parameters as with a plain activation (Kumar et al. 2023). double: H are produced, 2H passed on.
    """

    expansion = Fraction(2)
    neutral = {"width": "half"}

    def __init__(self, width: str = "half") -> None:
        self.width = check("activation.width", width, one_of=WIDTHS)

    def produced(self, features: int) -> int:
        """H/2 for half, H otherwise.  Raises ConfigError for half of an odd H."""
        return halved(features, self.width) if self.width == "half" else features

    @property
    def matches_parameters(self) -> bool:
        """Whether the network must trim its design."""
        return self.width == "matched"
