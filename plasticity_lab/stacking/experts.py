"""K times E linear layers side by side: the experts of K runs.

Legend: K runs, B examples, E experts, P slots (rows of an example that each expert is given), I inputs, O outputs
(padded as a linear layer's).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.kernels.through import as_given
from plasticity_lab.stacking.linear import StackedLinear


@dataclass(frozen=True)
class StackedExperts:
    """E linear maps in each of K runs: (K, B, E, I) → (K, B, E, O), or of several slots (K, B, E, P, I) → (…, P, O).

    `<name>.weight` (K, E, I, O) and `<name>.bias` (K, E, 1, O): an expert's numbers are one slice, and it reads nothing
    of another's. B must be a multiple of 4 (see `StackedLinear`, as which each expert starts and is computed).
    """

    name: str
    experts: int
    inputs: int
    outputs: int
    slots: int = 1
    linear: StackedLinear = field(init=False, repr=False, compare=False)
    """The map of one expert."""

    def __post_init__(self) -> None:
        # Made here, since torch 2.11 cannot compile what makes it.
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
        """Σ over examples of the squares of the gradient by each alone: of weight and bias, as stored.

        x (K, B, E, [P,] I), delta (K, B, E, [P,] O). An example's gradient is a sum over its slots, squared after it.
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
        # Stacked, what the product is given lies alike in memory however many runs there are, forward and backward:
        # moving axes alone, a run would have views where several have copies, and products of views have other bits.
        x_KEBI = torch.stack(x.unbind(2), dim=1)
        own = {name: parameters[name].flatten(0, 1) for name in (f"{self.name}.weight", f"{self.name}.bias")}
        h = self.linear(as_given(parameters, own), x_KEBI.flatten(2, -2).flatten(0, 1))
        return torch.stack(h.reshape(*x_KEBI.shape[:-1], self.outputs).unbind(1), dim=2)
