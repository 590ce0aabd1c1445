"""K linear layers in one tensor.

Legend: K runs, B rows, I inputs, O outputs (padded if a run's slice would begin off a 16-byte boundary), E examples, N
rows of each.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.kernels.through import Tapped, ThroughKernels
from plasticity_lab.stacking.products import product
from plasticity_lab.stacking.run_axis import aligned

CUT_OFF_DEVIATION = 0.87962566103423978
"""The standard deviation of a standard normal number that lies between −2 and 2."""


@dataclass(frozen=True)
class StackedLinear:
    """K linear maps in one tensor: x_KBI → h_KBO.  Run k reads nothing of run j.

    The parameters are stored outside, under `<name>.weight` (K, I, O) and `<name>.bias` (K, 1, O). Matrix products of a
    run give the same bits at every place in the pack only if its slice of the weights is aligned to 16 bytes. If I·O is
    not a multiple of 4, O is padded with units with constant zero weights, removed again after the product. B must be a
    multiple of 4 for the same reason.

    A layer of one unit or one input would also give other bits alone than in a pack. Forward or backward it is a matrix
    times a vector, and libraries use different routines for one such product and for several. A dimension of 1 is
    padded with zeros to 4, only for the product: parameters, gradients and checkpoints do not contain this padding.

    positions: N, the number of rows that the layer is given for each example. They are adjacent: the rows of the first
    example come first. With N = 1 a row is an example. With N > 1, as for tokens, the gradient of an example is a sum
    over its rows.
    """

    name: str
    inputs: int
    outputs: int
    positions: int = 1

    @property
    def padded(self) -> int:
        """O as stored."""
        return self.outputs if self.inputs * self.outputs % 4 == 0 else aligned(self.outputs)

    @property
    def size(self) -> int:
        """Parameters of one run, padding not counted."""
        return (self.inputs + 1) * self.outputs

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward."""
        return self.positions * self.inputs * self.outputs

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, float32: weight (I, O), bias (1, O).

        init = default: PyTorch's nn.Linear, weights and biases uniform in ±1/√I. All other choices set the biases to
        zero. init = orthogonal: see `orthogonal`, times the gain. init = kaiming, lecun: weights uniform in
        ±gain·√(3/I) (He et al. 2015; LeCun et al. 1998, with gain 1). init = lecun_normal: weights of variance gain²/I
        from a normal distribution truncated at two of its deviations, as in flax. init = xavier: in ±gain·√(6/(I + O))
        (Glorot and Bengio 2010). init = variance_scaling: in ±gain·√(√3/I), of variance 1/√3/I, as in Dopamine's lite
        agents.
        """
        weight, bias = np.zeros((self.inputs, self.padded), np.float32), np.zeros((1, self.padded), np.float32)
        if init == "orthogonal":
            weight[:, : self.outputs] = orthogonal(draw, self.inputs, self.outputs, gain)
            return {f"{self.name}.weight": weight, f"{self.name}.bias": bias}
        if init == "lecun_normal":
            normal = cut_off_normal(draw, (self.inputs, self.outputs))
            weight[:, : self.outputs] = gain / sqrt(self.inputs) / CUT_OFF_DEVIATION * normal
            return {f"{self.name}.weight": weight, f"{self.name}.bias": bias}
        if init == "xavier":
            bound = gain * sqrt(6 / (self.inputs + self.outputs))
        elif init == "variance_scaling":
            bound = gain * sqrt(sqrt(3) / self.inputs)
        else:
            bound = 1 / sqrt(self.inputs) if init == "default" else gain * sqrt(3 / self.inputs)
        weight[:, : self.outputs] = draw.uniform(-bound, bound, (self.inputs, self.outputs))
        if init == "default":
            bias[:, : self.outputs] = draw.uniform(-bound, bound, (1, self.outputs))
        return {f"{self.name}.weight": weight, f"{self.name}.bias": bias}

    def squares(self, parameters: Mapping[str, Tensor], x_KBI: Tensor, delta_KBO: Tensor) -> dict[str, Tensor]:
        """The sum over examples of each example's squared gradient, for weight and bias, as stored.

        x: the layer's input; delta: the gradient by its output. If an example has one row, its gradient is the product
        of its x and its delta, so the sum of x² δ² is enough: no example's gradient is stored. If it has several, its
        gradient is the sum of their products, squared after the sum. Then the gradients of one run are stored, (E, I,
        O). Run by run, so that a run's sums do not depend on the other runs of the pack.
        """
        weight, bias = (x_KBI.new_zeros(len(x_KBI), rows, self.padded) for rows in (self.inputs, 1))
        for run, (x, delta) in enumerate(zip(x_KBI.unbind(), delta_KBO.unbind(), strict=True)):
            if self.positions > 1:
                weight[run, :, : self.outputs] = self.gradients(x, delta).square().sum(dim=0)
                bias[run, 0, : self.outputs] = self.by_example(delta).sum(dim=1).square().sum(dim=0)
                continue
            squares = delta.square().contiguous()
            weight[run, :, : self.outputs] = x.square().t() @ squares
            bias[run, 0, : self.outputs] = squares.sum(dim=0)
        return {f"{self.name}.weight": weight, f"{self.name}.bias": bias}

    def gradients(self, x_BI: Tensor, delta_BO: Tensor) -> Tensor:
        """The gradient of each example of one run by the weight, (E, I, O): the sum of x δᵀ over the example's rows."""
        return torch.bmm(self.by_example(x_BI).mT, self.by_example(delta_BO))

    def by_example(self, rows_BD: Tensor) -> Tensor:
        """The rows of one run (B, D) → (E, N, D), contiguous: the layout in memory is the same in every pack."""
        return rows_BD.contiguous().unflatten(0, (-1, self.positions))

    def __call__(self, parameters: Mapping[str, Tensor], x_KBI: Tensor) -> Tensor:
        """x (K, B, I) → (K, B, O)."""
        if isinstance(parameters, ThroughKernels):  # which need no padding for the product
            h_KBO = parameters.linear(self.name, x_KBI)
            return h_KBO if h_KBO.shape[2] == self.outputs else h_KBO[..., : self.outputs]
        weight, bias = parameters[f"{self.name}.weight"], parameters[f"{self.name}.bias"]
        more_I, more_O = (3 if count == 1 else 0 for count in (self.inputs, self.padded))
        padded_KBI = x_KBI
        if more_I or more_O:
            padded_KBI = pad(x_KBI, (0, more_I))
            weight, bias = pad(weight, (0, more_O, 0, more_I)), pad(bias, (0, more_O))
        h_KBO = product(padded_KBI, weight, bias)
        if isinstance(parameters, Tapped):
            h_KBO = parameters.tapped(self.name, x_KBI, h_KBO[..., : self.padded])
        return h_KBO if h_KBO.shape[2] == self.outputs else h_KBO[..., : self.outputs]


def cut_off_normal(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Standard normal numbers between −2 and 2: others are drawn again."""
    found = draw.standard_normal(shape)
    while (beyond := np.abs(found) > 2).any():
        found[beyond] = draw.standard_normal(np.count_nonzero(beyond))
    return found


# First weights with orthogonal columns, or with orthogonal rows if there are fewer rows.
#
# Source: Saxe et al. 2014, as in torch.nn.init.orthogonal_.


def orthogonal(draw: np.random.Generator, inputs: int, outputs: int, gain: float) -> NDArray[np.float32]:
    """A weight (I, O), gain · Q: Q is uniform among matrices with orthonormal rows or columns."""
    tall = draw.normal(size=(max(inputs, outputs), min(inputs, outputs)))
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diag(r))  # without it Q would not be uniform
    return (gain * (q if inputs >= outputs else q.T)).astype(np.float32)
