"""The nine properties of Tables A1 and G1, each by one definition: a sentence, and the function that decides it.

The paper abbreviates them and leaves the definitions open. All are of an activation as it starts and as it is evaluated
(a randomised slope at its mean), on [−100, 100] unless a definition says otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from plasticity_lab.activations.activation import Activation
from plasticity_lab.activations.gain import normal_rule
from plasticity_lab.taxonomy.bands import hard_zones
from plasticity_lab.taxonomy.curve import Curve, curve
from plasticity_lab.taxonomy.floor import saturates
from plasticity_lab.taxonomy.profile import Profile

SMALL = 1e-6
"""A slope, a difference of slopes or a second derivative below this is none."""
NEAR_0_AND_1, LARGEST_FACTOR = 0.01, 0.99
"""How near mean and variance are to 0 and 1, and what an error of the variance is multiplied by at most, for an output
to normalise itself.
"""


@dataclass(frozen=True)
class Property:
    """A column of the tables: its abbreviation, what decides it in words, and the function."""

    name: str
    words: str
    holds: Callable[[Profile], bool]


def has_hard_zone(of: Profile) -> bool:
    """HDZ."""
    return bool(hard_zones(of.near))


def has_gradient_below_0(of: Profile) -> bool:
    """NZG."""
    below = of.near.x < 0
    size = of.near.size[below].unsqueeze(1)
    return not hard_zones(Curve(of.near.x[below], size, size, size))


def saturates_on_both_sides(of: Profile) -> bool:
    """Sat±."""
    return saturates(of, "left") and saturates(of, "right")


def saturates_on_the_left(of: Profile) -> bool:
    """Sat−."""
    return saturates(of, "left")


def is_c1(of: Profile) -> bool:
    """C1."""
    return not of.kinks


def is_non_monotonic(of: Profile) -> bool:
    """NonM."""
    slope = torch.cat([of.left.slope, of.near.slope, of.right.slope])
    return bool(((slope < -SMALL).any(dim=0) & (slope > SMALL).any(dim=0)).any())


def normalises_itself(of: Profile) -> bool:
    """SelfN.  Source: Klambauer et al. 2017, whose map of (mean, variance) has an attracting fixed point at (0, 1).

    With weights of mean 0 the next mean is 0 whatever the last one was, so that only the variance's factor counts:
    ½ E[(z² − 1) φ²] − E[φ] E[(z² − 1) φ], by Stein's lemma; 0.7826 of SELU.
    """
    z, density = (torch.from_numpy(each) for each in normal_rule())
    value = curve(of.activation, z).value
    mean, square, by_mean, by_square = (
        (density @ each).mean().item()
        for each in (value, value**2, (z**2 - 1).unsqueeze(1) * value, (z**2 - 1).unsqueeze(1) * value**2)
    )
    factor = by_square / 2 - mean * by_mean
    is_fixed = abs(mean) < NEAR_0_AND_1 and abs(square - mean**2 - 1) < NEAR_0_AND_1
    return is_fixed and abs(factor) < LARGEST_FACTOR


def has_free_slope(of: Profile) -> bool:
    """L/R slope."""
    x = torch.linspace(-5, -0.1, 50, dtype=torch.float64)
    activation = of.activation
    pairs = [(curve(activation, x, drawn=0.0), curve(activation, x, drawn=1.0))] * activation.randomised
    pairs += [(curve(activation, x), curve(activation, x, moved=place)) for place in _learned(activation)]
    return any(bool(((one.slope - other.slope).abs() > SMALL).any()) for one, other in pairs)


def is_curved(of: Profile) -> bool:
    """f''."""
    return bool((of.near.bend.abs() > SMALL).any())


PROPERTIES = (
    Property(
        "HDZ",
        "φ′ of some output is exactly 0 on an interval of at least 0.1, and above 1e-6 right beside it: slopes that "
        "fade until a double holds them no longer do not count",
        has_hard_zone,
    ),
    Property("NZG", "the gradient through all outputs together has no such interval for x < 0", has_gradient_below_0),
    Property("Sat±", "|φ′| < 0.001 for all |x| from 1,000 to 10,000, on both sides", saturates_on_both_sides),
    Property("Sat−", "|φ′| < 0.001 for all x from −10,000 to −1,000", saturates_on_the_left),
    Property("C1", "φ′ jumps nowhere by more than 1e-6", is_c1),
    Property(
        "NonM",
        "some output rises and falls: φ′ is above 1e-6 somewhere and below −1e-6 elsewhere, far out included",
        is_non_monotonic,
    ),
    Property(
        "SelfN",
        "for z ~ N(0, 1), φ(z) has mean 0 and variance 1 within 0.01, and a small error of the variance becomes "
        "smaller (factor below 0.99)",
        normalises_itself,
    ),
    Property("L/R slope", "a learned or drawn value changes φ′ somewhere in −5 ≤ x ≤ −0.1 by more than 1e-6",
             has_free_slope),
    Property("f''", "|φ″| > 1e-6 somewhere, kinks left out", is_curved),
)  # fmt: skip
"""In the paper's order."""


def marks(of: Profile) -> dict[str, bool]:
    """Abbreviation → whether the activation has the property."""
    return {each.name: each.holds(of) for each in PROPERTIES}


def _learned(activation: Activation) -> list[tuple[str, int]]:
    """(name, place) of each learnable value."""
    received = activation.expansion.denominator
    return [(name, at) for name, each in activation.learnable(received).items() for at in range(len(each.start))]
