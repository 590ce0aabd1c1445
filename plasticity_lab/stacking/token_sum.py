"""K linear layers in one tensor, applied to every token of an example, and summed over the tokens.

Legend: K runs, B examples, M tokens, I numbers of each, O outputs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.kernels.through import as_given
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.products import row_times


@dataclass(frozen=True)
class StackedTokenSum:
    """The sum over tokens of a linear map of each: (K, B, M, I) → (K, B, O).  Run k reads nothing of run j.

    The parameters have the layout of a linear layer: `<name>.weight` (K, I, O) and `<name>.bias` (K, 1, O). No
    activation is between the map and the sum, so the tokens are summed first, and the bias counts M times: the same
    function and the same gradients, for a hundredth of the work. Source: Figure 22 of Sokar et al. 2025, "summed over
    the first dimension after tokenization".
    tokens: M. inputs: I.
    """

    name: str
    tokens: int
    inputs: int
    outputs: int
    linear: StackedLinear = field(init=False, repr=False, compare=False)
    """The map of a token."""

    def __post_init__(self) -> None:
        # Made here, since torch 2.11 cannot compile its construction.
        object.__setattr__(self, "linear", StackedLinear(self.name, self.inputs, self.outputs))

    @property
    def size(self) -> int:
        """Parameters of one run, padding not counted."""
        return self.linear.size

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward: for its sum, and for one map."""
        return self.tokens * self.inputs + self.linear.work

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, float32: the parameters of the map."""
        return self.linear.start(draw, init, gain)

    def squares(self, parameters: Mapping[str, Tensor], x_KBMI: Tensor, delta_KBO: Tensor) -> dict[str, Tensor]:
        """The sum over examples of each example's squared gradient, for weight and bias, as stored."""
        found = self.linear.squares(parameters, self._summed(x_KBMI), delta_KBO)
        found[f"{self.name}.bias"] = self.tokens**2 * found[f"{self.name}.bias"]
        return found

    def __call__(self, parameters: Mapping[str, Tensor], x_KBMI: Tensor) -> Tensor:
        """x (K, B, M, I) → (K, B, O)."""
        weight, bias = f"{self.name}.weight", f"{self.name}.bias"
        own = {weight: parameters[weight], bias: self.tokens * parameters[bias]}
        return self.linear(as_given(parameters, own), self._summed(x_KBMI))

    def _summed(self, x_KBMI: Tensor) -> Tensor:
        """(K, B, I), by a product of matrices: its bits do not depend on the pack."""
        # Made contiguous: the memory layout of a run's tokens may differ between a pack and a run alone, and change the
        # bits.
        each = x_KBMI.contiguous().flatten(0, 1)
        ones = torch.ones(each.shape[:2], dtype=each.dtype, device=each.device)
        return row_times(ones, each).unflatten(0, x_KBMI.shape[:2])
