"""What an activation is: a formula over a whole pack, and a declaration of how it fits into a network.

Legend: K runs, B examples, D units or channels (axis 2), * the shape behind the run axis: (B, D) or (B, D, H, W).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from torch import Tensor

from plasticity_lab.component import Component, check
from plasticity_lab.errors import ConfigError


@dataclass(frozen=True)
class Site:
    """What an activation is given beside its input, at one layer of one step.

    shape: the numbers on the run axis (`on_run_axis`), name → (K,).
    learned: this layer's learnable values, name → (K, n), as `learnable` declared them.
    uniform: a number in [0, 1) for each element of the input, of its shape; None in evaluation, and for
        activations that are not randomised.
    """

    shape: Mapping[str, Tensor]
    learned: Mapping[str, Tensor]
    uniform: Tensor | None = None


@dataclass(frozen=True)
class Learnable:
    """A learnable value of one run: where it starts, (n,), and whether all layers of the network share it."""

    start: Sequence[float]
    shared: bool = False


class Activation(Component):
    """A family of activations. Final classes set the class attributes, check their settings, and write `__call__`.

    The runs of a pack may differ in the settings annotated `float`, unless the class says otherwise
    (`run_axis_settings`); what `on_run_axis` makes of them reaches `__call__` as `site.shape[name]`, (K,). Every other
    setting is structure, equal within a pack, and is read from `self`.

    A run's values and gradients must not depend on its place in the pack, bit for bit. On CPU torch's sigmoid, silu,
    elu, celu, selu and softplus break that: the last, incomplete vector of a tensor goes through another exponential.
    Compiled, exp, tanh, erf, sin and others do too. Take them from `stacking.elementary`, `sigmoid.py` and `elu.py`.
    (A torch.autograd.Function would do too, but costs more than it saves inside torch.func.grad.)
    """

    randomised: bool = False
    """Draws a number per element in training, and uses the mean in evaluation."""

    expansion: ClassVar[Fraction] = Fraction(1)
    """Units or channels passed on for each one that the layer before produces."""

    floats_on_run_axis = True

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → (K, *), axis 2 grown by `expansion`."""
        raise NotImplementedError

    def produced(self, features: int) -> int:
        """How many units or channels the layer before produces where the network's design says `features`."""
        return features

    @property
    def matches_parameters(self) -> bool:
        """Whether the network is to trim its design until it has as many parameters as with a plain activation."""
        return False

    def learnable(self, produced: int) -> dict[str, Learnable]:
        """The learnable values at a layer of that many units or channels, by name."""
        return {}

    def gain(self) -> float:
        """Kaiming gain of the layer before: 1 / √E[φ(z)²] with z ~ N(0, 1), or the published one where there is one."""
        raise NotImplementedError


def along_run_axis(values: Tensor, x: Tensor) -> Tensor:
    """values (K,) or (K, n) laid beside x (K, B, D, ...): (K, 1, 1 or n, 1, ...).  n is 1 or D."""
    width = 1 if values.dim() == 1 else values.shape[1]
    return values.reshape(values.shape[0], 1, width, *([1] * (x.dim() - 3)))


def slope_between(lower: Tensor, upper: Tensor, site: Site, x: Tensor) -> Tensor:
    """A slope per element in training, like x; in evaluation the mean per run, (K, 1, 1, ...).  lower, upper (K,).

    lower = upper gives exactly that slope, whatever is drawn.
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
