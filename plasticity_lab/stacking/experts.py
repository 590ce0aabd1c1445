"""K times E linear layers in one tensor: the experts of K runs, without noise and with it.

Legend: K runs, B examples, E experts, P slots (rows of an example for each expert), I inputs, O outputs (padded like
those in a linear layer), N random numbers, R rows of noise: B, or 1 for all examples.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.kernels.through import as_given
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.noisy import StackedNoisyLinear, deviations, with_still_deviations
from plasticity_lab.stacking.run_axis import aligned

MANY_SLOTS = 8
"""From this number of slots on, an example's weights are computed (O · I operations) instead of two products (P · O ·
I)."""


@dataclass(frozen=True)
class StackedExperts:
    """E linear maps in each of K runs: (K, B, E, I) → (K, B, E, O), or with several slots (K, B, E, P, I) → (…, P, O).

    `<name>.weight` (K, E, I, O) and `<name>.bias` (K, E, 1, O): an expert's parameters are one slice, and it reads no
    other expert's. B must be a multiple of 4 (see `StackedLinear`; each expert is initialised and computed like it).
    """

    name: str
    experts: int
    inputs: int
    outputs: int
    slots: int = 1
    linear: StackedLinear = field(init=False, repr=False, compare=False)
    """The map of one expert."""

    def __post_init__(self) -> None:
        # Made here, since torch 2.11 cannot compile its construction.
        object.__setattr__(self, "linear", StackedLinear(self.name, self.inputs, self.outputs))

    @property
    def size(self) -> int:
        """Parameters of one run, padding not counted."""
        return self.experts * self.linear.size

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward."""
        return self.experts * self.slots * self.linear.work

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, float32: weight (E, I, O), bias (E, 1, O); one expert after the other."""
        each = [self.linear.start(draw, init, gain) for _ in range(self.experts)]
        return {name: np.stack([own[name] for own in each]) for name in each[0]}

    def squares(self, parameters: Mapping[str, Tensor], x: Tensor, delta: Tensor) -> dict[str, Tensor]:
        """The sum over examples of each example's squared gradient, for weight and bias, as stored.

        x (K, B, E, [P,] I), delta (K, B, E, [P,] O). An example's gradient is a sum over its slots, squared after the
        sum.
        """
        padded = self.linear.padded
        weight, bias = (x.new_zeros(len(x), self.experts, rows, padded) for rows in (self.inputs, 1))
        for run, (own, delta_of_run) in enumerate(zip(x.unbind(), delta.unbind(), strict=True)):
            rows, by_rows = own.flatten(0, 1).view(-1, self.slots, self.inputs), delta_of_run.flatten(0, 1)
            by_rows = by_rows.reshape(-1, self.slots, self.outputs)
            each = torch.bmm(rows.transpose(1, 2), by_rows).unflatten(0, (-1, self.experts))
            weight[run, ..., : self.outputs] = each.square().sum(dim=0)
            sums = by_rows.sum(dim=1).unflatten(0, (-1, self.experts))
            bias[run, :, 0, : self.outputs] = sums.square().sum(dim=0)
        return {f"{self.name}.weight": weight, f"{self.name}.bias": bias}

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (K, B, E, [P,] I) → (K, B, E, [P,] O)."""
        # Stacking gives the product the same memory layout for any number of runs, forward and backward. With axes
        # moved instead, a single run would have views and several runs copies, and products of views have other bits.
        x_KEBI = torch.stack(x.unbind(2), dim=1)
        own = {name: parameters[name].flatten(0, 1) for name in (f"{self.name}.weight", f"{self.name}.bias")}
        h = self.linear(as_given(parameters, own), x_KEBI.flatten(2, -2).flatten(0, 1))
        return torch.stack(h.reshape(*x_KEBI.shape[:-1], self.outputs).unbind(1), dim=2)


@dataclass(frozen=True)
class StackedNoisyExperts:
    """E noisy linear maps in each of K runs, (K, B, E, [P,] I) → (K, B, E, [P,] O): see `StackedNoisyLinear`.

    Means and deviations have the layout of `StackedExperts`. scope, sigma: as in `StackedNoisyLinear`. shared: whether
    all experts and slots of an example have the same noise, as in Dopamine's labs/moes, or each a separate one. Slots
    with the same noise use the same weights, W + S · (f(p) ⊗ f(q)); if there are many slots, these weights are computed
    once.
    """

    name: str
    experts: int
    inputs: int
    outputs: int
    slots: int = 1
    scope: str = "sample"
    sigma: float = 0.1
    shared: bool = True
    layer: StackedExperts = field(init=False, repr=False, compare=False)
    """The maps without noise."""
    one: StackedNoisyLinear = field(init=False, repr=False, compare=False)
    """The map of one expert."""

    def __post_init__(self) -> None:
        # Made here, since torch 2.11 cannot compile its construction.
        object.__setattr__(
            self, "layer", StackedExperts(self.name, self.experts, self.inputs, self.outputs, self.slots)
        )
        object.__setattr__(
            self, "one", StackedNoisyLinear(self.name, self.inputs, self.outputs, self.scope, self.sigma)
        )

    @property
    def linear(self) -> object:
        """The map of one expert, without noise."""
        return self.layer.linear

    @property
    def size(self) -> int:
        """Parameters of one run, padding not counted."""
        return self.experts * self.one.size

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward, in training."""
        if self.draws_weights:
            return self.experts * (self.slots + 2) * self.one.linear.work
        return self.experts * self.slots * self.one.work

    @property
    def draws_weights(self) -> bool:
        """Whether the weights of each example are computed, instead of two products."""
        return self.shared and self.slots >= MANY_SLOTS

    def noise(self, batch: int) -> int:
        """Uniform numbers that a pass of one run takes."""
        return self.one.noise(batch) * (1 if self.shared else self.experts * self.slots)

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, one expert after the other; see `StackedNoisyLinear.start`."""
        each = [self.one.start(draw, init, gain) for _ in range(self.experts)]
        return {name: np.stack([own[name] for own in each]) for name in each[0]}

    def squares(self, parameters: Mapping[str, Tensor], x: Tensor, delta: Tensor) -> dict[str, Tensor]:
        """Like `StackedExperts.squares`, without noise: zero for the deviations."""
        return with_still_deviations(self.name, self.layer.squares(parameters, x, delta))

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor, noise_KN: Tensor | None = None) -> Tensor:
        """x (K, B, E, [P,] I) → (K, B, E, [P,] O).  noise: `noise(B)` numbers of each run; None in evaluation."""
        if noise_KN is not None and self.draws_weights:
            return self._by_drawn_weights(parameters, x, noise_KN)
        h = self.layer(parameters, x)
        if noise_KN is None:
            return h
        by_input, by_output = self._factors(noise_KN, x)
        return h + self.layer(deviations(parameters, self.name), x * by_input) * by_output

    def _by_drawn_weights(self, parameters: Mapping[str, Tensor], x_KBEPI: Tensor, noise_KN: Tensor) -> Tensor:
        """The output with the weights drawn for each example, which all slots of an expert use.  → (K, B, E, P, O)."""
        by_input, by_output = self._factors(noise_KN, x_KBEPI)  # (K, R, 1, 1, I), (K, R, 1, 1, O)
        by_output = pad(by_output, (0, self.one.linear.padded - self.outputs))
        mean, bias, deviation, of_bias = (
            parameters[f"{self.name}.{part}"].unsqueeze(1) for part in ("weight", "bias", "sigma", "sigma_bias")
        )
        weight_KREIO, bias_KRE1O = mean + deviation * (by_input.mT * by_output), bias + of_bias * by_output
        if self.scope == "batch":  # one draw for all examples
            drawn = {f"{self.name}.weight": weight_KREIO.squeeze(1), f"{self.name}.bias": bias_KRE1O.squeeze(1)}
            return self.layer(as_given(parameters, drawn), x_KBEPI)
        more = aligned(self.slots) - self.slots  # rows of an example: see `StackedLinear`
        x = pad(x_KBEPI, (0, 0, 0, more)) if more else x_KBEPI
        drawn = {f"{self.name}.weight": weight_KREIO.flatten(0, 2), f"{self.name}.bias": bias_KRE1O.flatten(0, 2)}
        h = self.layer.linear(as_given(parameters, drawn), x.flatten(0, 2)).unflatten(0, x.shape[:3])
        return h[:, :, :, : self.slots] if more else h

    def _factors(self, noise_KN: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """f of normal numbers, by input and by output, broadcastable to x."""
        examples, places = x.shape[1], x.shape[2:-1]
        if self.shared:
            factors = self.one.factors(noise_KN, examples)
            factors = factors.view(*factors.shape[:2], *(1 for _ in places), -1)
        else:
            count = self.experts * self.slots
            each = noise_KN.unflatten(1, (count, -1))
            factors = torch.stack([self.one.factors(own, examples) for own in each.unbind(1)], dim=2)
            factors = factors.unflatten(2, places)
        return factors[..., : self.inputs], factors[..., self.inputs :]
