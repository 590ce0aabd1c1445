"""K layers in one tensor, each followed by layer normalisation, by RMSNorm, or by a diagonal layer.

Legend: K runs, B examples, O units or channels, N numbers of one example behind the layer (O, or O·H'·W'), R rows with
the same scale (B, or B·H'·W').
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar, TypeVar, cast, overload

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.kernels.layers import layer_norm
from plasticity_lab.kernels.through import ThroughKernels
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.identity import StackedIdentity
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.noisy import StackedNoisyLinear
from plasticity_lab.stacking.products import product
from plasticity_lab.stacking.run_axis import aligned
from plasticity_lab.stacking.token_sum import StackedTokenSum

EPSILON = 1e-5  # PyTorch's
AnyLayer = TypeVar("AnyLayer")
WORK = 4  # multiplications for each number: the square, the division, the scale, and its share of the means


@dataclass(frozen=True)
class StackedNormed:
    """A stacked layer, followed by the normalisation of each example to mean 0 and variance 1 (Ba et al. 2016).

    The mean and the variance are over all numbers of an example behind the layer; for a convolution over all channels
    and pixels. Then each unit or channel has a separate scale and shift, `<name>.scale` and `<name>.shift`, (K, 1, O).

    name: the layer's too. All sums, also for gradients, are matrix products: only these give a run the same bits at
    every place of a pack, compiled too (see `StackedLinear`).
    """

    name: str
    layer: StackedLinear | StackedConv2d | StackedNoisyLinear | StackedTokenSum | StackedIdentity
    parts: ClassVar[Sequence[str]] = ("scale", "shift")
    """The parameters of the normalisation, (K, 1, O) each."""

    def __post_init__(self) -> None:
        if self.layer.name != self.name:
            object.__setattr__(self, "layer", replace(self.layer, name=self.name))

    @property
    def linear(self) -> StackedLinear:
        """The linear map within."""
        return getattr(self.layer, "linear", self.layer)

    @property
    def image(self) -> tuple[int, int, int]:
        """The shape (C, H, W) of one example, for a convolution."""
        return cast(StackedConv2d, self.layer).image

    @property
    def outputs(self) -> int:
        """O."""
        return self.layer.outputs

    @property
    def produced(self) -> tuple[int, ...]:
        """(O,), or for a convolution (O, H', W')."""
        return getattr(self.layer, "produced", (self.layer.outputs,))

    @property
    def positions(self) -> int:
        """The number of rows that the layer is given for each example, as in `StackedLinear`."""
        return getattr(self.layer, "positions", 1)

    @property
    def size(self) -> int:
        """Parameters of one run."""
        return self.layer.size + len(self.parts) * self.outputs

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward."""
        return self.layer.work + WORK * prod(self.produced)

    def noise(self, batch: int) -> int:
        """Random numbers that the layer within takes in training."""
        return self.layer.noise(batch) if isinstance(self.layer, StackedNoisyLinear) else 0

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, float32: the layer's; scale (1, O), ones; shift (1, O), zeros."""
        shape, first = (1, self.outputs), {"scale": np.ones, "shift": np.zeros}
        own = {f"{self.name}.{part}": first[part](shape, np.float32) for part in self.parts}
        return self.layer.start(draw, init, gain) | own

    def squares(self, parameters: Mapping[str, Tensor], h: Tensor, delta: Tensor) -> dict[str, Tensor]:
        """The sum over examples of each example's squared gradient, for scale and shift, (K, 1, O).

        h: the output of the layer itself, (K, B, O, *); delta: the gradient by the output of the normalisation.
        """
        rows = self.rows(parameters, h.movedim(2, -1)).view(len(h), h.shape[1] // self.positions, -1, self.outputs)
        delta_rows = delta.movedim(2, -1).reshape(rows.shape)
        each = [
            [
                gradient.sum(dim=1).square().sum(dim=0, keepdim=True)
                for gradient in (delta_rows[run] * rows[run], delta_rows[run])[: len(self.parts)]
            ]
            for run in range(len(h))
        ]
        stacked = (torch.stack(of_part) for of_part in zip(*each, strict=True))
        return {f"{self.name}.{part}": of_part for part, of_part in zip(self.parts, stacked, strict=True)}

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor, noise_KN: Tensor | None = None) -> Tensor:
        """x (K, B, ...) → (K, B, ...).  noise: the random numbers of the layer within."""
        of_rows = type(self) is StackedNormed and isinstance(self.layer, StackedIdentity)
        if of_rows and isinstance(parameters, ThroughKernels):
            return layer_norm(x, parameters[f"{self.name}.scale"], parameters[f"{self.name}.shift"], EPSILON)
        made = self.layer(parameters, x) if noise_KN is None else self.layer(parameters, x, noise_KN)
        h = made.movedim(2, -1)  # channels last, as convolutions leave them in memory
        rows_KRO = self.rows(parameters, h)
        scale, *shift = (at_each_row(parameters[f"{self.name}.{part}"], rows_KRO) for part in self.parts)
        scaled = rows_KRO * scale
        return (scaled + shift[0] if shift else scaled).view(h.shape).movedim(-1, 2)

    def rows(self, parameters: Mapping[str, Tensor], h: Tensor) -> Tensor:
        """The numbers behind the layer, normalised, before scale and shift.  h (K, B, *, O) → (K, R, O)."""
        return self.normalised(h.flatten(2)).view(h.shape[0], -1, self.outputs)

    def normalised(self, x_KBN: Tensor) -> Tensor:
        """The numbers of each example behind the layer, normalised.  x (K, B, N) → like x."""
        return standardised(x_KBN)


@dataclass(frozen=True)
class StackedRMSNormed(StackedNormed):
    """A stacked layer, followed by the division of each example by its root mean square (Zhang & Sennrich 2019, eq. 4).

    The mean is not subtracted, and there is no shift: each unit or channel has a scale alone, `<name>.scale`.
    """

    parts = ("scale",)

    def normalised(self, x_KBN: Tensor) -> Tensor:
        """Each example divided by its root mean square.  x (K, B, N) → like x."""
        return x_KBN / (_mean_at_each_place(x_KBN * x_KBN) + EPSILON).sqrt()


@dataclass(frozen=True)
class StackedDiagonal(StackedNormed):
    """A stacked layer, followed by a scale and a shift for each unit or channel, without normalisation.

    Source: Chung et al. 2024, Section 3.2: a network with orthogonal rows can still grow.
    """

    def normalised(self, x_KBN: Tensor) -> Tensor:
        """The numbers themselves."""
        return x_KBN


def standardised(x_KBN: Tensor) -> Tensor:
    """Each example minus its mean, divided by its standard deviation.  x (K, B, N) → like x."""
    centred = x_KBN - _mean_at_each_place(x_KBN)
    return centred / (_mean_at_each_place(centred * centred) + EPSILON).sqrt()


def _mean_at_each_place(x_KBN: Tensor) -> Tensor:
    """Each example's mean, repeated at each of its N places.  x (K, B, N) → like x."""
    runs, _, numbers = x_KBN.shape
    more = aligned(numbers) - numbers
    taken = pad(x_KBN.new_full((numbers, 1), 1 / numbers), (0, 3, 0, more))
    laid = pad(x_KBN.new_ones((1, numbers)), (0, more, 0, 3))
    means_KB4 = product(pad(x_KBN, (0, more)) if more else x_KBN, taken.expand(runs, -1, -1))
    return product(means_KB4, laid.expand(runs, -1, -1))[..., :numbers]


def at_each_row(values_K1O: Tensor, rows_KRO: Tensor) -> Tensor:
    """Each run's values, repeated at each of its rows.  (K, 1, O) → like rows."""
    runs, rows, outputs = rows_KRO.shape
    laid = pad(rows_KRO.new_ones((rows, 1)), (0, 3))
    values = pad(values_K1O, (0, aligned(outputs) - outputs, 0, 3))
    return product(laid.expand(runs, -1, -1), values)[..., :outputs]


@overload
def linear_of(
    layer: StackedNormed,
) -> StackedLinear | StackedConv2d | StackedNoisyLinear | StackedTokenSum | StackedIdentity: ...


@overload
def linear_of(layer: AnyLayer) -> AnyLayer: ...


def linear_of(layer: Any) -> Any:
    """The layer itself, or for a normalised layer the layer within."""
    return layer.layer if isinstance(layer, StackedNormed) else layer
