"""The base class of all activations: a formula over a whole pack, and how it fits into a network.

Legend: K runs, B examples, D units or channels (axis 2), * the shape behind the run axis: (B, D) or (B, D, H, W).
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.component import Component, check
from plasticity_lab.errors import ConfigError


@dataclass(frozen=True)
class Site:
    """The second argument of an activation: its numbers at one layer of one step.

    shape: the settings on the run axis (`on_run_axis`), name → (K,).
    learned: the learnable values of this layer, name → (K, n), as `learnable` declares them.
    uniform: a number in [0, 1) for each element of the input, like the input; None in evaluation, and for activations
        that are not randomised.
    kernels: whether our kernels compute the network and the input is the rows of its tokens, which are next to each
        other in memory: a kernel of the activation's own then pays.
    """

    shape: Mapping[str, Tensor]
    learned: Mapping[str, Tensor]
    uniform: Tensor | None = None
    kernels: bool = False


@dataclass(frozen=True)
class Learnable:
    """A learnable value of one run: its start, (n,), and whether all layers of the network share it."""

    start: Sequence[float]
    shared: bool = False


class Activation(Component):
    """A family of activations. A subclass checks its settings in `__init__` and writes `__call__`.

    All other methods have defaults: override `gain` if the literature publishes a gain, `learnable` if the activation
    learns, `produced` and `expansion` if it changes the number of units.

    The runs of a pack may differ in settings annotated `float`, unless the class overrides `run_axis_settings`.
    `on_run_axis` returns these numbers for one run, and `__call__` reads them as `site.shape[name]`, (K,). All other
    settings are structure: equal within a pack, and read from `self`.

    Rule: the values and gradients of a run must not depend on its place in the pack, bit for bit. On a CPU, torch's
    sigmoid, silu, elu, celu, selu and softplus break this rule: they compute the incomplete last vector of a tensor
    with another exponential. In compiled code exp, tanh, erf, sin and others break it too. Use the functions in
    `stacking.elementary`, `sigmoid.py` and `elu.py`. (A torch.autograd.Function also works, but is slow inside
    torch.func.grad.)
    """

    randomised: bool = False
    """Whether it draws a number per element in training, and uses the mean in evaluation."""

    expansion: ClassVar[Fraction] = Fraction(1)
    """Number of units or channels passed on for each one that the layer before produces."""

    floats_on_run_axis = True

    in_stack: str | None = None
    """Its name in `agents.supervised.stack_activation`, if our kernels take many steps with it in one call. The name is
    not inherited, and an object may say None, for its settings."""

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → (K, *), axis 2 grown by `expansion`."""
        raise NotImplementedError

    def produced(self, features: int) -> int:
        """The number of units or channels that the layer before produces if the network's design says `features`."""
        return features

    @property
    def matches_parameters(self) -> bool:
        """Whether the network reduces its widths until it has as many parameters as with a plain activation."""
        return False

    def learnable(self, produced: int) -> dict[str, Learnable]:
        """The learnable values, by name, at a layer that produces this many units or channels."""
        return {}

    def gain(self) -> float:
        """Kaiming gain of the layer before: the published one, or by default 1 / √E[φ(z)²] with z ~ N(0, 1).

        A layer with the default gain keeps the second moment of its input. It is computed for the activation at its
        start and in evaluation mode (mean slopes). The integral is a Gauss–Legendre sum on each side of 0, since most
        activations have their kink at 0.
        """
        z, density = normal_rule()
        x = torch.from_numpy(z).reshape(1, -1, 1)
        shape = {name: torch.tensor([value], dtype=x.dtype) for name, value in self.on_run_axis().items()}
        learned = {name: torch.tensor([value.start], dtype=x.dtype) for name, value in self.learnable(1).items()}
        squares = self(x, Site(shape, learned)).square().mean(dim=2).numpy().ravel()
        return float(1 / np.sqrt(squares @ density))


@functools.cache
def normal_rule() -> tuple[np.ndarray, np.ndarray]:
    """Nodes on [−12, 12], and their weights under the normal density."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    z = 6 * (nodes + 1)
    density = 6 * weights * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    return np.concatenate([-z, z]), np.concatenate([density, density])


def gain_of_slope(slope: float) -> float:
    """√(2 / (1 + slope²)): the Kaiming gain for a negative slope.  Source: He et al. 2015."""
    return (2 / (1 + slope**2)) ** 0.5


def along_run_axis(values: Tensor, x: Tensor) -> Tensor:
    """values (K,) or (K, n), shaped to broadcast over x (K, B, D, ...): (K, 1, 1 or n, 1, ...).  n is 1 or D."""
    width = 1 if values.dim() == 1 else values.shape[1]
    return values.reshape(values.shape[0], 1, width, *([1] * (x.dim() - 3)))


def slope_between(lower: Tensor, upper: Tensor, site: Site, x: Tensor) -> Tensor:
    """A random slope per element in training, like x; the mean of each run in evaluation, (K, 1, 1, ...).

    lower, upper: (K,). If they are equal, the result is exactly that slope for any draw.
    """
    low, high = along_run_axis(lower, x), along_run_axis(upper, x)
    if site.uniform is None:
        return low + (high - low) * 0.5
    return low + (high - low) * site.uniform


def check_bounds(lower: float, upper: float) -> tuple[float, float]:
    """The bounds of a random slope, 0 ≤ lower ≤ upper.  Raises ConfigError."""
    check("activation.lower", lower, at_least=0)
    if upper < lower:
        raise ConfigError(
            f"activation.lower is {lower} and activation.upper is {upper}; lower must not be greater than upper."
        )
    return lower, upper
