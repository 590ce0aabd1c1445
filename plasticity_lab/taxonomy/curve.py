"""An activation as a function of one number: φ, φ′ and φ″ in float64.

Legend: N numbers, O outputs for each number (2 for CReLU and Deep Fourier, 1 for the others).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site

END, STEP = 100.0, 0.004  # definitions are about [−100, 100] (Section 4); no point of this grid is 0
FAR = torch.logspace(3, 4, 200, dtype=torch.float64)  # tails, beyond every scale of Table B1 (β = 0.01 turns at 100)
SMALL = 1e-6  # a smaller slope, jump of the slope or second derivative counts as none
UNEXPLAINED = 1e-7  # a kink is searched for where φ′ changes over a step by this much more than φ″ explains
OFF_CENTRE = 0.45  # intervals are not halved in their middle: at 0, autograd takes some slope between both sides


@dataclass(frozen=True)
class Curve:
    """An activation at the numbers x, (N,): value φ, slope φ′ and bend φ″, each (N, O)."""

    x: Tensor
    value: Tensor
    slope: Tensor
    bend: Tensor

    @property
    def size(self) -> Tensor:
        """|φ′|, (N,): the L2 norm over the outputs, because a gradient passes through all outputs."""
        return torch.linalg.vector_norm(self.slope, dim=1)

    def unexplained(self, these: slice, those: slice) -> Tensor:
        """The change of φ′ from each point to its partner that ½(φ″ + φ″) Δx does not explain.

        The maximum over the outputs.
        """
        width = (self.x[those] - self.x[these]).unsqueeze(1)
        change = self.slope[those] - self.slope[these] - (self.bend[those] + self.bend[these]) * width / 2
        return change.abs().amax(dim=1)


def curve(activation: Activation, x: Tensor, drawn: float | None = None, moved: tuple[str, int] | None = None) -> Curve:
    """The curve of an activation with its initial parameters, at x (N,) float64.

    For SwiGLU, x is the gate and the other input is 1.
    drawn: the draw of a randomised activation, from 0 (its lower bound) to 1; None: its mean, as in evaluation.
    moved: (name, place) of a learnable value to be 0.001 greater than its initial value.
    """
    at = x.detach().clone().requires_grad_()
    received = activation.expansion.denominator
    inputs = torch.cat([at.new_ones(1, len(at), received - 1), at.reshape(1, -1, 1)], dim=2)
    shape = {name: at.new_tensor([value]) for name, value in activation.on_run_axis().items()}
    learned = {name: at.new_tensor([list(each.start)]) for name, each in activation.learnable(received).items()}
    if moved is not None:
        learned[moved[0]][0, moved[1]] += 1e-3
    uniform = torch.full_like(inputs, drawn) if drawn is not None and activation.randomised else None
    value = activation(inputs, Site(shape, learned, uniform))[0]
    slope = torch.stack([_derivative(output, at) for output in value.unbind(1)], dim=1)
    bend = torch.stack([_derivative(output, at) for output in slope.unbind(1)], dim=1)
    return Curve(x.detach(), value.detach(), slope.detach(), bend.detach())


def _derivative(output: Tensor, at: Tensor) -> Tensor:
    """The derivative of each output with respect to its own x.  output, at (N,) → (N,)."""
    if not output.requires_grad:  # a slope that is constant
        return torch.zeros_like(at)
    return torch.autograd.grad(output.sum(), at, create_graph=True, allow_unused=True, materialize_grads=True)[0]


class Profile:
    """An activation at all points that the definitions use: `near` on [−100, 100], `left` and `right` in the tails."""

    def __init__(self, activation: Activation) -> None:
        self.activation = activation
        self.near = curve(activation, (torch.arange(round(2 * END / STEP), dtype=torch.float64) + 0.5) * STEP - END)
        self.left, self.right = curve(activation, -FAR), curve(activation, FAR)

    @cached_property
    def kinks(self) -> list[tuple[float, float]]:
        """(x, jump of φ′) of each kink on [−100, 100]: φ′ changes by more than 1e-6 within 1e-12."""
        at = torch.nonzero(self.near.unexplained(slice(None, -1), slice(1, None)) > UNEXPLAINED).flatten()
        low, high = self.near.x[at], self.near.x[at + 1]
        first, second, third = (slice(part * len(at), (part + 1) * len(at)) for part in range(3))
        for _ in range(36 if len(at) else 0):
            middle = low + OFF_CENTRE * (high - low)
            three = curve(self.activation, torch.cat([low, middle, high]))
            in_left = three.unexplained(first, second) >= three.unexplained(second, third)
            low, high = torch.where(in_left, low, middle), torch.where(in_left, middle, high)
        ends = curve(self.activation, torch.cat([low, high])).slope
        jumps = torch.linalg.vector_norm(ends[second] - ends[first], dim=1)
        return [(x, jump) for x, jump in zip(low.tolist(), jumps.tolist(), strict=True) if jump > SMALL]


def points(activation: Activation, low: float, high: float, count: int) -> dict[str, Any]:
    """The curve as lists, with points 1e-9 on both sides of each kink, so that a jump of φ′ is drawn vertically.

    value_ends, slope_ends: the curve at the smallest and at the largest draw; None if the activation is not randomised.
    """
    kinks = [x for x, _ in Profile(activation).kinks if low <= x <= high]
    regular = torch.linspace(low, high, count, dtype=torch.float64)
    regular = regular[[all(abs(x - kink) > 1e-6 for kink in kinks) for x in regular.tolist()]]
    beside = torch.tensor([kink + away for kink in kinks for away in (-1e-9, 1e-9)], dtype=torch.float64)
    shown = curve(activation, torch.cat([regular, beside]).sort().values)
    ends = [curve(activation, shown.x, end) for end in (0.0, 1.0)] if activation.randomised else []
    return {
        "x": shown.x.tolist(),
        "value": shown.value.T.tolist(),
        "slope": shown.slope.T.tolist(),
        "value_ends": [end.value.T.tolist() for end in ends] or None,
        "slope_ends": [end.slope.T.tolist() for end in ends] or None,
    }
