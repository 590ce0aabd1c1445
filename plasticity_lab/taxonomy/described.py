"""Activations as data: what analysis reads of them, and what it draws."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.taxonomy.bands import dead_band, dead_intervals
from plasticity_lab.taxonomy.curve import Curve, curve
from plasticity_lab.taxonomy.floor import floor, floor_kind, kink_at_0, side
from plasticity_lab.taxonomy.options import Named
from plasticity_lab.taxonomy.profile import Profile
from plasticity_lab.taxonomy.properties import PROPERTIES, marks

BESIDE = 1e-9
"""How far to both sides of a kink φ′ is shown, so that its jump is upright."""


def definitions() -> dict[str, str]:
    """Abbreviation → the sentence that decides it."""
    return {each.name: each.words for each in PROPERTIES}


def facts(of: Named) -> dict[str, Any]:
    """What an activation is, numbers rounded to six decimals.

    marks: the properties of Tables A1 and G1. dead_band: the share of [−100, 100] with |φ′| < 0.001; dead_intervals:
    where. floor, floor_kind: Figure 2's. kink: by how much φ′ jumps at 0; kinks: [x, jump], everywhere. side: Figure
    3's group. lowest_slope, highest_slope: of φ′ on [−100, 100], over all outputs.
    """
    profile = Profile(of.activation)
    return {
        "activation": of.name,
        "settings": dict(of.settings),
        "marks": marks(profile),
        "dead_band": _rounded(dead_band(profile)),
        "dead_intervals": [[_rounded(end) for end in each] for each in dead_intervals(profile)],
        "floor": _rounded(floor(profile)),
        "floor_kind": floor_kind(profile),
        "kink": _rounded(kink_at_0(profile)),
        "kinks": [[_rounded(x), _rounded(jump)] for x, jump in profile.kinks],
        "side": side(profile),
        "lowest_slope": _rounded(profile.near.slope.min().item()),
        "highest_slope": _rounded(profile.near.slope.max().item()),
    }


def drawn(of: Named, low: float, high: float, points: int) -> dict[str, Any]:
    """Its curve from low to high, to six digits.

    x (N,); value, slope: φ and φ′ of each output, (O, N). Those of a randomised one are as it is evaluated; value_ends
    and slope_ends, (2, O, N), are where the least and the greatest draw lead, and None of all others.
    """
    kinks = [x for x, _ in Profile(of.activation).kinks if low <= x <= high]
    regular = torch.linspace(low, high, points, dtype=torch.float64)
    regular = regular[[all(abs(x - kink) > 1e-6 for kink in kinks) for x in regular.tolist()]]
    beside = torch.tensor([kink + away for kink in kinks for away in (-BESIDE, BESIDE)], dtype=torch.float64)
    x = torch.cat([regular, beside]).sort().values
    ends = [curve(of.activation, x, end) for end in (0.0, 1.0)] if of.activation.randomised else []
    shown = curve(of.activation, x)
    return {
        "activation": of.name,
        "settings": dict(of.settings),
        "x": _digits(x),
        "value": _of_outputs(shown.value),
        "slope": _of_outputs(shown.slope),
        "value_ends": _of_ends(ends, "value"),
        "slope_ends": _of_ends(ends, "slope"),
    }


def _of_ends(ends: Sequence[Curve], what: str) -> list[list[list[float]]] | None:
    return [_of_outputs(getattr(each, what)) for each in ends] or None


def _of_outputs(values: Tensor) -> list[list[float]]:
    return [_digits(each) for each in values.unbind(1)]


def _digits(values: Tensor) -> list[float]:
    return [float(f"{value:.6g}") + 0.0 for value in values.tolist()]


def _rounded(value: float) -> float:
    return round(value, 6) + 0.0
