"""Where an activation passes on no gradient: dead bands, and zones where the gradient is exactly 0."""

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.taxonomy.curve import Curve, curve
from plasticity_lab.taxonomy.profile import END, Profile

DEAD = 1e-3
"""Below this |φ′| counts as dead.  Source: Section 4."""
ROUNDING = 1e-6
"""Next to a hard dead zone |φ′| is more than this. A function that merely fades reaches 0 in doubles too, from below
1e-15.
"""
SHORTEST = 0.1
"""A hard dead zone is no shorter."""
HALVINGS = 25
"""Of a step of the grid, after which an end is exact to 1e-9."""

Interval = tuple[float, float]


def dead_intervals(of: Profile) -> list[Interval]:
    """The intervals of [−100, 100] in which |φ′| < 0.001, from the left to the right, their ends exact to 1e-9."""
    x, places = of.near.x, _stretches(_is_dead(of.near))
    inner = [(start - 1, start) for start, _ in places if start > 0]
    inner += [(after, after - 1) for _, after in places if after < len(x)]
    found = _edges(of.activation, x[[outside for outside, _ in inner]], x[[inside for _, inside in inner]])
    edge = dict(zip(inner, found.tolist(), strict=True))
    return [(edge.get((start - 1, start), -END), edge.get((after, after - 1), END)) for start, after in places]


def dead_band(of: Profile) -> float:
    """The dead-band width: the share of [−100, 100] in which |φ′| < 0.001.  Source: Section 4."""
    return sum(high - low for low, high in dead_intervals(of)) / (2 * END)


def hard_zones(of: Curve) -> list[Interval]:
    """The intervals in which the slope of some output is exactly 0, and stops being so abruptly.

    Each is at least 0.1 long. On one side of it |φ′| is above 1e-6 at the next point; or it is the whole curve.
    """
    zones = []
    for slope in of.slope.unbind(1):
        for start, after in _stretches(slope == 0):
            beside = [slope[at].abs().item() for at in (start - 1, after) if 0 <= at < len(slope)]
            long = (of.x[after - 1] - of.x[start]).item() >= SHORTEST
            if long and (not beside or max(beside) > ROUNDING):
                zones.append((of.x[start].item(), of.x[after - 1].item()))
    return sorted(zones)


def _is_dead(of: Curve) -> Tensor:
    return of.size < DEAD


def _stretches(true: Tensor) -> list[tuple[int, int]]:
    """The unbroken stretches in which something holds: from which place, and up to which one that is not in it."""
    padded = torch.cat([torch.zeros(1), true.double(), torch.zeros(1)])
    change = padded.diff()
    starts, afters = (torch.nonzero(change == sign).flatten().tolist() for sign in (1, -1))
    return list(zip(starts, afters, strict=True))


def _edges(activation: Activation, outside: Tensor, inside: Tensor) -> Tensor:
    """Where dead bands begin, between points that are in none and points that are; all (E,)."""
    for _ in range(HALVINGS):
        middle = outside + 0.45 * (inside - outside)
        dead = _is_dead(curve(activation, middle))
        outside, inside = torch.where(dead, outside, middle), torch.where(dead, middle, inside)
    return inside
