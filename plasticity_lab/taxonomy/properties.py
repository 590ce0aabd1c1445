"""The properties of Tables A1 and G1, dead bands, floors and sides: each has one definition, computed from a profile.

The paper abbreviates the properties and leaves the definitions open. Each property describes an activation with its
initial parameters in evaluation mode (a randomised slope is at its mean). The interval is [−100, 100] unless a
definition gives another.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.activations.activation import normal_rule
from plasticity_lab.taxonomy.curve import END, OFF_CENTRE, SMALL, Curve, Profile, curve

DEAD = 1e-3  # a smaller |φ′| counts as dead (Section 4)
SHORTEST = 0.1  # no hard dead zone is shorter
NEAR_0_AND_1, LARGEST_FACTOR = 0.01, 0.99  # SelfN: mean and variance, an error of the variance


def facts(of: Profile) -> dict[str, Any]:
    """The marks of all properties, and the numbers that describe the function."""
    return {
        "marks": {name: holds(of) for name, (_, holds) in PROPERTIES.items()},
        "dead_band": dead_band(of),
        "dead_intervals": dead_intervals(of),
        "floor": floor(of),
        "floor_kind": floor_kind(of),
        "kink": kink_at_0(of),
        "kinks": of.kinks,
        "side": side(of),
        "lowest_slope": of.near.slope.min().item(),
        "highest_slope": of.near.slope.max().item(),
    }


def dead_intervals(of: Profile) -> list[tuple[float, float]]:
    """The intervals of [−100, 100] with |φ′| < 0.001, from left to right; their ends are exact to 1e-9."""
    x, stretches = of.near.x, _stretches(of.near.size < DEAD)
    edges = [(first - 1, first) for first, _ in stretches if first > 0]
    edges += [(after, after - 1) for _, after in stretches if after < len(x)]
    outside, inside = (x[[edge[side] for edge in edges]] for side in (0, 1))
    for _ in range(25):
        middle = outside + OFF_CENTRE * (inside - outside)
        dead = curve(of.activation, middle).size < DEAD
        outside, inside = torch.where(dead, outside, middle), torch.where(dead, middle, inside)
    ends = dict(zip(edges, inside.tolist(), strict=True))
    return [(ends.get((first - 1, first), -END), ends.get((after, after - 1), END)) for first, after in stretches]


def dead_band(of: Profile) -> float:
    """The dead-band width: the fraction of [−100, 100] with |φ′| < 0.001.  Source: Section 4."""
    return sum(high - low for low, high in dead_intervals(of)) / (2 * END)


def hard_zones(of: Curve) -> list[tuple[float, float]]:
    """The intervals, at least 0.1 long, with a slope of exactly 0 for some output and an abrupt end.

    An end is abrupt if |φ′| is above 1e-6 at the next point on one side; fading slopes reach 0 in doubles from below
    1e-15. An interval that is the whole curve counts too.
    """
    zones = []
    for slope in of.slope.unbind(1):
        for first, after in _stretches(slope == 0):
            beside = [slope[at].abs().item() for at in (first - 1, after) if 0 <= at < len(slope)]
            low, high = of.x[first].item(), of.x[after - 1].item()
            if high - low >= SHORTEST and (not beside or max(beside) > SMALL):
                zones.append((low, high))
    return sorted(zones)


def _stretches(true: Tensor) -> list[tuple[int, int]]:
    """The unbroken stretches of True, each as its first index and the first index after it."""
    change = torch.cat([torch.zeros(1), true.double(), torch.zeros(1)]).diff()
    firsts, afters = (torch.nonzero(change == sign).flatten().tolist() for sign in (1, -1))
    return list(zip(firsts, afters, strict=True))


def fades(tail: Curve) -> bool:
    """Whether |φ′| < 0.001 at every point of a tail."""
    return bool((tail.size < DEAD).all())


def saturates(of: Profile) -> bool:
    """Sat±: whether both tails fade."""
    return fades(of.left) and fades(of.right)


def floor(of: Profile) -> float:
    """The minimum of |φ′| for x < 0, with the left tail; 0 if φ′ changes its sign there (footnote 2: φ′ ≥ α > 0)."""
    below = of.near.x < 0
    if of.near.slope.shape[1] > 1:
        return min(of.near.size[below].min().item(), of.left.size.min().item())
    slope = torch.cat([of.near.slope[below], of.left.slope])
    lowest, highest = slope.min().item(), slope.max().item()
    return 0.0 if lowest <= 0 <= highest else min(abs(lowest), abs(highest))


def floor_kind(of: Profile) -> str:
    """Figure 2's group.  Source: footnote 2, made exact.

    "non-zero": the floor is at least 0.001. "zero": the floor is smaller, and the activation has a hard dead zone for
    x < 0 or saturates on both sides. "effective non-zero": all other activations; their slope fades only on the left,
    or crosses 0.
    """
    if floor(of) >= DEAD:
        return "non-zero"
    return "zero" if saturates(of) or any(low < 0 for low, _ in hard_zones(of.near)) else "effective non-zero"


def kink_at_0(of: Profile) -> float:
    """The jump of φ′ at 0; 0 if φ has no kink there (footnote 3: C¹ at x = 0)."""
    return max((jump for x, jump in of.kinks if abs(x) < SMALL), default=0.0)


def side(of: Profile) -> str:
    """Figure 3's group: "two-sided" if the activation saturates.

    The others are "one-sided (kink)" if φ′ jumps at 0, and "one-sided (smooth)" if it does not.
    """
    return "two-sided" if saturates(of) else "one-sided (kink)" if kink_at_0(of) else "one-sided (smooth)"


def _has_gradient_below_0(of: Profile) -> bool:
    below = of.near.x < 0
    size = of.near.size[below].unsqueeze(1)
    return not hard_zones(Curve(of.near.x[below], size, size, size))


def _is_non_monotonic(of: Profile) -> bool:
    slope = torch.cat([of.left.slope, of.near.slope, of.right.slope])
    return bool(((slope < -SMALL).any(dim=0) & (slope > SMALL).any(dim=0)).any())


def normalises_itself(of: Profile) -> bool:
    """SelfN: the map of (mean, variance) from layer to layer has an attracting fixed point at (0, 1).

    With weights of mean 0 the next mean is 0 for every previous mean, so only the factor of the variance counts. By
    Stein's lemma it is ½ E[(z² − 1) φ²] − E[φ] E[(z² − 1) φ]; 0.7826 for SELU.  Source: Klambauer et al. 2017.
    """
    z, density = (torch.from_numpy(array) for array in normal_rule())
    value, weight = curve(of.activation, z).value, (z**2 - 1).unsqueeze(1)
    moments = (value, value**2, weight * value, weight * value**2)
    mean, square, by_mean, by_square = ((density @ moment).mean().item() for moment in moments)
    is_fixed = abs(mean) < NEAR_0_AND_1 and abs(square - mean**2 - 1) < NEAR_0_AND_1
    return is_fixed and abs(by_square / 2 - mean * by_mean) < LARGEST_FACTOR


def _has_free_slope(of: Profile) -> bool:
    x, activation = torch.linspace(-5, -0.1, 50, dtype=torch.float64), of.activation
    learned = activation.learnable(activation.expansion.denominator)
    places = [(name, at) for name, values in learned.items() for at in range(len(values.start))]
    pairs = [(curve(activation, x, drawn=0.0), curve(activation, x, drawn=1.0))] * activation.randomised
    pairs += [(curve(activation, x), curve(activation, x, moved=place)) for place in places]
    return any(bool(((one.slope - other.slope).abs() > SMALL).any()) for one, other in pairs)


PROPERTIES: dict[str, tuple[str, Callable[[Profile], bool]]] = {
    "HDZ": ("φ′ of some output is exactly 0 on an interval of at least 0.1, and above 1e-6 right next to it: slopes "
            "that fade until they underflow do not count", lambda of: bool(hard_zones(of.near))),
    "NZG": ("the gradient through all outputs together has no such interval for x < 0", _has_gradient_below_0),
    "Sat±": ("|φ′| < 0.001 for all |x| from 1,000 to 10,000, on both sides", saturates),
    "Sat−": ("|φ′| < 0.001 for all x from −10,000 to −1,000", lambda of: fades(of.left)),
    "C1": ("φ′ jumps nowhere by more than 1e-6", lambda of: not of.kinks),
    "NonM": ("some output rises and falls: φ′ is above 1e-6 somewhere and below −1e-6 elsewhere, far out included",
             _is_non_monotonic),
    "SelfN": ("for z ~ N(0, 1), φ(z) has mean 0 and variance 1 within 0.01, and a small error of the variance becomes "
              "smaller (factor below 0.99)", normalises_itself),
    "L/R slope": ("a learned or drawn value changes φ′ somewhere in −5 ≤ x ≤ −0.1 by more than 1e-6", _has_free_slope),
    "f''": ("|φ″| > 1e-6 somewhere, kinks left out", lambda of: bool((of.near.bend.abs() > SMALL).any())),
}  # fmt: skip
"""The paper's abbreviation, in the paper's order → the definition in words, and the function that checks it."""
