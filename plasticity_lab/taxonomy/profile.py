"""An activation looked at everywhere that the definitions ask about, once for all of them."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.taxonomy.curve import Curve, curve

END = 100.0
"""The range of Section 4's dead-band width: pre-activations from −100 to 100."""
STEP = 0.004
FAR = (1e3, 1e4)
"""Where tails are judged: beyond every scale that Table B1's settings can give (β = 0.01 turns at about 100)."""
SMALL_JUMP = 1e-6
_UNEXPLAINED = 1e-7
"""By how much the slope changes over one step beyond what φ″ says, where a kink is looked for."""
_OFF_CENTRE, _HALVINGS = 0.45, 36
"""Intervals are not halved in their middle: that of the one around 0 is 0, where autograd takes some slope between."""


@dataclass(frozen=True)
class Profile:
    """An activation as it starts and as it is evaluated."""

    activation: Activation

    @cached_property
    def near(self) -> Curve:
        """On [−100, 100], in steps of 0.004; no point is 0."""
        return curve(self.activation, (torch.arange(round(2 * END / STEP), dtype=torch.float64) + 0.5) * STEP - END)

    @cached_property
    def left(self) -> Curve:
        """Far to the left, from −10,000 to −1,000."""
        return curve(self.activation, -_far())

    @cached_property
    def right(self) -> Curve:
        """Far to the right, from 1,000 to 10,000."""
        return curve(self.activation, _far())

    @cached_property
    def kinks(self) -> list[tuple[float, float]]:
        """(x, by how much φ′ jumps there), on [−100, 100], from the left to the right.

        A place between two points of the grid is a kink if, made narrower until it is 1e-12 wide, φ′ still changes by
        more than 1e-6 there.
        """
        near = self.near
        at = torch.nonzero(_unexplained(near, slice(None, -1), slice(1, None)) > _UNEXPLAINED).flatten()
        low, high = near.x[at], near.x[at + 1]
        for _ in range(_HALVINGS if len(at) else 0):
            middle = low + _OFF_CENTRE * (high - low)
            three = curve(self.activation, torch.cat([low, middle, high]))
            first, second, third = (slice(part * len(at), (part + 1) * len(at)) for part in range(3))
            in_left = _unexplained(three, first, second) >= _unexplained(three, second, third)
            low, high = torch.where(in_left, low, middle), torch.where(in_left, middle, high)
        ends = curve(self.activation, torch.cat([low, high])).slope
        jumps = torch.linalg.vector_norm(ends[len(at) :] - ends[: len(at)], dim=1)
        return [(x, jump) for x, jump in zip(low.tolist(), jumps.tolist(), strict=True) if jump > SMALL_JUMP]


def _far() -> Tensor:
    return torch.logspace(3, 4, 200, dtype=torch.float64)


def _unexplained(of: Curve, these: slice, those: slice) -> Tensor:
    """How far φ′ changes from these points to those beyond ½(φ″ + φ″) Δx, over all outputs."""
    width = (of.x[those] - of.x[these]).unsqueeze(1)
    change = of.slope[those] - of.slope[these] - (of.bend[those] + of.bend[these]) * width / 2
    return change.abs().amax(dim=1)
