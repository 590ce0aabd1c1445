"""K routers in one tensor: the logits of each token for each slot.

Legend: K runs, B examples, M tokens of each, D numbers of a token, S slots of all experts together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from math import sqrt

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.kernels.through import as_given
from plasticity_lab.stacking.linear import CUT_OFF_DEVIATION, StackedLinear, cut_off_normal

INITS = ("lecun_normal", "xavier", "normal")
CLOSED = -1e30
"""The logit of a closed slot: e to that is 0, and a softmax over closed slots only is uniform."""
TINY = 1e-6
"""Added to norms that are divided by, as in Dopamine's code."""


@dataclass(frozen=True)
class StackedRouter:
    """Logits of tokens and slots, (K, B, M, D) → (K, B, M, S): products of the tokens with φ, without a bias.

    φ is `<name>.weight` (K, D, S), stored as a linear layer's weight. starts: its initial distribution: lecun_normal
    (of variance 1 / (D · experts), flax's default for φ of shape (D, experts, slots); experts: the number of experts),
    xavier, or normal (of variance 1). normalised: whether tokens and the columns of φ are divided by their lengths (+
    1e-6), and the products multiplied by `<name>.scalar` (K, 1), which is learned and initially 1. prunable: the number
    of experts if they can be closed, otherwise 0. Then `<name>.open` (K, experts) is initially 1 and has no gradient.
    If it is 0, the logits of that expert's slots are very low, so it has no part in any softmax. Source: Puigcerver et
    al. 2024, as in Dopamine's labs/moes, where normalisation is off.
    """

    name: str
    inputs: int
    outputs: int
    experts: int = 1
    starts: str = "lecun_normal"
    normalised: bool = False
    prunable: int = 0
    linear: StackedLinear = field(init=False, repr=False, compare=False)
    """The map without its bias."""

    def __post_init__(self) -> None:
        # Made here, since torch 2.11 cannot compile its construction.
        object.__setattr__(self, "linear", StackedLinear(self.name, self.inputs, self.outputs))

    @property
    def size(self) -> int:
        """Parameters of one run, padding not counted."""
        return self.inputs * self.outputs + self.normalised + self.prunable

    @property
    def work(self) -> int:
        """Multiplications that one token takes forward."""
        return self.linear.work

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, float32: weight (D, S), by `starts` and not by the network's `init`; scalar."""
        weight = np.zeros((self.inputs, self.linear.padded), np.float32)
        shape = (self.inputs, self.outputs)
        if self.starts == "lecun_normal":
            weight[:, : self.outputs] = cut_off_normal(draw, shape) / (
                CUT_OFF_DEVIATION * sqrt(self.inputs * self.experts)
            )
        elif self.starts == "xavier":
            bound = sqrt(6 / (self.inputs + self.outputs))
            weight[:, : self.outputs] = draw.uniform(-bound, bound, shape)
        else:
            weight[:, : self.outputs] = draw.standard_normal(shape)
        scalar = {f"{self.name}.scalar": np.ones(1, np.float32)} if self.normalised else {}
        is_open = {f"{self.name}.open": np.ones(self.prunable, np.float32)} if self.prunable else {}
        return {f"{self.name}.weight": weight, **scalar, **is_open}

    def squares(self, parameters: Mapping[str, Tensor], x: Tensor, delta: Tensor) -> dict[str, Tensor]:
        """The sum over examples of each example's squared gradient, for φ and for the scalar.

        x (K, B, M, D), delta (K, B, M, S). An example's gradient is a sum over its tokens, squared after the sum. If φ
        is normalised, the gradient by the normalised φ is passed on to φ and to the scalar.
        """
        weight, of_scalar = x.new_zeros(len(x), self.inputs, self.linear.padded), x.new_zeros(len(x), 1)
        for run, (own, delta_of_run) in enumerate(zip(x.unbind(), delta.unbind(), strict=True)):
            if self.normalised:
                phi = parameters[f"{self.name}.weight"][run, :, : self.outputs].contiguous()
                scalar = parameters[f"{self.name}.scalar"][run]
                tokens = own / (_lengths(own, -1) + TINY)
                each = torch.bmm(tokens.contiguous().mT, delta_of_run.contiguous())
                of_scalar[run, 0] = (each * (phi / (_lengths(phi, 0) + TINY))).sum(dim=(1, 2)).square().sum()
                each = _through_lengths(phi, scalar * each)
            else:
                each = torch.bmm(own.transpose(1, 2), delta_of_run)
            weight[run, :, : self.outputs] = each.square().sum(dim=0)
        scalar = {f"{self.name}.scalar": of_scalar} if self.normalised else {}
        is_open = {f"{self.name}.open": x.new_zeros(len(x), self.prunable)} if self.prunable else {}
        return {f"{self.name}.weight": weight, **scalar, **is_open}

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (K, B, M, D) → (K, B, M, S).  B · M must be a multiple of 4."""
        weight = parameters[f"{self.name}.weight"]
        if self.normalised:
            x = x / (_lengths(x, -1) + TINY)
            scalar = parameters[f"{self.name}.scalar"].unsqueeze(2)
            weight = scalar * weight / (_lengths(weight, 1) + TINY)
        without = torch.zeros(len(weight), 1, weight.shape[2], dtype=weight.dtype, device=weight.device)
        own = {f"{self.name}.weight": weight, f"{self.name}.bias": without}
        logits = self.linear(as_given(parameters, own), x.flatten(1, 2)).unflatten(1, x.shape[1:3])
        if not self.prunable:
            return logits
        is_open = parameters[f"{self.name}.open"].detach() > 0
        columns = is_open.repeat_interleave(self.outputs // self.prunable, dim=1)
        return torch.where(columns[:, None, None], logits, CLOSED)


def _lengths(x: Tensor, axis: int) -> Tensor:
    """Lengths of the vectors along an axis, kept with one element. Added up one by one: the same bits in any pack.

    The length of a vector of zeros is 0, and so is its gradient: a plain square root's would be NaN. The padding
    of φ is such a vector, and so is a token of an empty place of an image, if biases are 0.
    """
    squared = reduce(torch.add, (part * part for part in x.unbind(axis)))
    return torch.where(squared > 0, torch.where(squared > 0, squared, 1.0).sqrt(), 0.0).unsqueeze(axis)


def _through_lengths(phi_DS: Tensor, gradient_BDS: Tensor) -> Tensor:
    """The gradients by φ / (‖φ‖ + ε), column by column → the gradients by φ."""
    lengths = _lengths(phi_DS, 0)
    along = (gradient_BDS * phi_DS).sum(dim=1, keepdim=True)
    less = phi_DS * along / (lengths * (lengths + TINY)).clamp(min=torch.finfo(lengths.dtype).tiny)
    return (gradient_BDS - less) / (lengths + TINY)
