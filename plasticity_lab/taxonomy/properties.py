"""An activation as a function of one number, in float64: its curve, and its properties in Tables A1 and G1.

The paper abbreviates the properties and leaves the definitions open. Here each has one definition. It describes an
activation with its initial parameters in evaluation mode (a randomised slope is at its mean), on [−100, 100] unless it
gives another interval.

Legend: N numbers, O outputs for each number (2 for CReLU and Deep Fourier, 1 for the others).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site, normal_rule

END, STEP = 100.0, 0.004  # definitions are about [−100, 100] (Section 4); no point of this grid is 0
FAR = torch.logspace(3, 4, 200, dtype=torch.float64)  # tails, beyond every scale of Table B1 (β = 0.01 turns at 100)
SMALL = 1e-6  # a smaller slope, jump of the slope or second derivative counts as none
UNEXPLAINED = 1e-7  # a kink is searched for where φ′ changes over a step by this much more than φ″ explains
OFF_CENTRE = 0.45  # intervals are not halved in their middle: at 0, autograd takes some slope between both sides
DEAD = 1e-3  # a smaller |φ′| counts as dead (Section 4)
SHORTEST = 0.1  # no hard dead zone is shorter
NEAR_0_AND_1, LARGEST_FACTOR = 0.01, 0.99  # SelfN: mean and variance, an error of the variance


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
        """The change of φ′ from point to partner that ½(φ″ + φ″) Δx does not explain, the maximum over outputs."""
        width = (self.x[those] - self.x[these]).unsqueeze(1)
        change = self.slope[those] - self.slope[these] - (self.bend[those] + self.bend[these]) * width / 2
        return change.abs().amax(dim=1)


def curve(activation: Activation, x: Tensor, drawn: float | None = None, moved: tuple[str, int] | None = None) -> Curve:
    """The curve of an activation with its initial parameters, at x (N,) float64.

    For SwiGLU and Hadamard, x is the second half (SwiGLU's gate), the first is 1.
    drawn: the draw of a randomised activation, from 0 (its lower bound) to 1; None: its mean, as in evaluation.
    moved: (name, place) of a learnable value to be 0.001 greater than its initial value.
    """
    at = x.detach().clone().requires_grad_()
    received = activation.expansion.denominator
    inputs = torch.cat([at.new_ones(1, len(at), received - 1), at.reshape(1, -1, 1)], dim=2)
    shape = {name: at.new_tensor([value]) for name, value in activation.on_run_axis().items()}
    learned = {name: at.new_tensor([list(values.start)]) for name, values in activation.learnable(received).items()}
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


def facts(activation: Activation) -> dict[str, Any]:
    """The marks of all properties, and the numbers that describe the function.

    dead_band: the fraction of [−100, 100] with |φ′| < 0.001 (Section 4). kink: the jump of φ′ at 0; 0 if φ is C¹ there
    (footnote 3). side: Figure 3's group.
    """
    profile = Profile(activation)
    dead = dead_intervals(profile)
    kink = max((jump for x, jump in profile.kinks if abs(x) < SMALL), default=0.0)
    smooth = "one-sided (kink)" if kink else "one-sided (smooth)"
    return {
        "marks": {name: holds(profile) for name, (_, holds) in PROPERTIES.items()},
        "dead_band": sum(high - low for low, high in dead) / (2 * END),
        "dead_intervals": dead,
        "floor": floor(profile),
        "floor_kind": floor_kind(profile),
        "kink": kink,
        "kinks": profile.kinks,
        "side": "two-sided" if saturates(profile) else smooth,
        "lowest_slope": profile.near.slope.min().item(),
        "highest_slope": profile.near.slope.max().item(),
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


def hard_zones(x: Tensor, slope: Tensor) -> list[tuple[float, float]]:
    """The intervals, at least 0.1 long, with a slope (N, O) of exactly 0 for some output and an abrupt end.

    An end is abrupt if |φ′| is above 1e-6 at the next point on one side; fading slopes reach 0 in doubles from below
    1e-15. An interval that is the whole curve counts too.
    """
    zones = []
    for output in slope.unbind(1):
        for first, after in _stretches(output == 0):
            beside = [output[at].abs().item() for at in (first - 1, after) if 0 <= at < len(output)]
            low, high = x[first].item(), x[after - 1].item()
            if high - low >= SHORTEST and (not beside or max(beside) > SMALL):
                zones.append((low, high))
    return sorted(zones)


def _stretches(true: Tensor) -> list[tuple[int, int]]:
    """The unbroken stretches of True, each as its first index and the first index after it."""
    change = torch.cat([torch.zeros(1), true.double(), torch.zeros(1)]).diff()
    firsts, afters = (torch.nonzero(change == sign).flatten().tolist() for sign in (1, -1))
    return list(zip(firsts, afters, strict=True))


def saturates(of: Profile) -> bool:
    """Sat±: whether |φ′| < 0.001 at every point of both tails."""
    return all((tail.size < DEAD).all() for tail in (of.left, of.right))


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
    hard = any(low < 0 for low, _ in hard_zones(of.near.x, of.near.slope))
    return "zero" if hard or saturates(of) else "effective non-zero"


def _has_gradient_below_0(of: Profile) -> bool:
    below = of.near.x < 0
    return not hard_zones(of.near.x[below], of.near.size[below].unsqueeze(1))


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
            "that fade until they underflow do not count", lambda of: bool(hard_zones(of.near.x, of.near.slope))),
    "NZG": ("the gradient through all outputs together has no such interval for x < 0", _has_gradient_below_0),
    "Sat±": ("|φ′| < 0.001 for all |x| from 1,000 to 10,000, on both sides", saturates),
    "Sat−": ("|φ′| < 0.001 for all x from −10,000 to −1,000", lambda of: bool((of.left.size < DEAD).all())),
    "C1": ("φ′ jumps nowhere by more than 1e-6", lambda of: not of.kinks),
    "NonM": ("some output rises and falls: φ′ is above 1e-6 somewhere and below −1e-6 elsewhere, far out included",
             _is_non_monotonic),
    "SelfN": ("for z ~ N(0, 1), φ(z) has mean 0 and variance 1 within 0.01, and a small error of the variance becomes "
              "smaller (factor below 0.99)", normalises_itself),
    "L/R slope": ("a learned or drawn value changes φ′ somewhere in −5 ≤ x ≤ −0.1 by more than 1e-6", _has_free_slope),
    "f''": ("|φ″| > 1e-6 somewhere, kinks left out", lambda of: bool((of.near.bend.abs() > SMALL).any())),
}  # fmt: skip
"""The paper's abbreviation, in the paper's order → the definition in words, and the function that checks it."""
DEFINITIONS = {name: words for name, (words, _) in PROPERTIES.items()}
