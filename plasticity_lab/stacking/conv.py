"""K convolutional layers side by side.

Legend: K runs, B examples, C input channels, H, W rows and columns, O output channels, P numbers of a patch, C·kernel².
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod, sqrt

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad, unfold

from plasticity_lab.kernels import on_gpu
from plasticity_lab.kernels.through import ThroughKernels
from plasticity_lab.stacking.linear import StackedLinear


def places(side: int, size: int, stride: int, padding: str) -> int:
    """The number of places of a window of `size` pixels along a side, in steps of `stride`; below 1 if none fits.

    valid: the window lies on the image. same: side / stride, rounded up, as in JAX and TensorFlow. centred: the same
    number, for an odd size.
    """
    return (side - size) // stride + 1 if padding == "valid" else -(-side // stride)


def margins(side: int, size: int, stride: int, padding: str) -> tuple[int, int]:
    """The pixels added before and behind a side, so that the window has its `places`.

    valid: none. same: as many as needed, half of them on either side, and an odd one behind. PyTorch's layers take one
    number for both sides, so their windows differ there. centred: size // 2 on either side, PyTorch's padding=size // 2
    for an odd size: the windows' centres are the first pixel and every stride-th one from there.
    """
    if padding == "valid":
        return 0, 0
    if padding == "centred":
        return size // 2, size // 2
    needed = max((places(side, size, stride, padding) - 1) * stride + size - side, 0)
    return needed // 2, needed - needed // 2


@dataclass(frozen=True)
class StackedConv2d:
    """K convolutions side by side: (K, B, C, H, W) → (K, B, O, H', W').  Run k reads nothing of run j.

    A convolution is a linear map of patches, so its parameters have the layout of a linear layer: `<name>.weight`
    (K, P, O), patches channel by channel, and `<name>.bias` (K, 1, O). In either kind of layer an output channel is a
    column, and an input channel is a block of rows.

    image: (C, H, W) of one example. padding: valid (none), same or centred (zeros around, so that H' and W' are H and W
    by the stride, rounded up; see `margins`). stride: rows and columns from one place of the kernel to the next.
    """

    name: str
    image: tuple[int, int, int]
    outputs: int
    kernel: int
    padding: str
    stride: int = 1
    linear: StackedLinear = field(init=False, repr=False, compare=False)
    """The map from a patch to the output channels."""

    def __post_init__(self) -> None:
        # Made here, since torch 2.11 cannot compile its construction.
        object.__setattr__(self, "linear", StackedLinear(self.name, self.image[0] * self.kernel**2, self.outputs))

    @property
    def margins(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Rows of zeros above and below, columns of zeros left and right."""
        above_and_below, beside = (margins(side, self.kernel, self.stride, self.padding) for side in self.image[1:])
        return above_and_below, beside

    @property
    def produced(self) -> tuple[int, int, int]:
        """(O, H', W')."""
        rows, columns = (places(side, self.kernel, self.stride, self.padding) for side in self.image[1:])
        return self.outputs, rows, columns

    @property
    def size(self) -> int:
        """Parameters of one run, padding not counted."""
        return self.linear.size

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward."""
        return self.linear.work * prod(self.produced[1:])

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, float32: weight (P, O), bias (1, O).

        init = default: PyTorch's nn.Conv2d, weights and biases uniform in ±1/√P. init = kaiming: weights uniform in
        ±gain·√(3/P), biases zero (He et al. 2015). init = xavier: in ±gain·√(6/(P + O·kernel²)), biases zero.
        """
        if init == "xavier":  # in the fan out, an output channel counts once for each pixel of the kernel
            fans = self.linear.inputs + self.outputs * self.kernel**2
            gain *= sqrt((self.linear.inputs + self.outputs) / fans)
        return self.linear.start(draw, init, gain)

    def squares(self, parameters: Mapping[str, Tensor], x: Tensor, delta: Tensor) -> dict[str, Tensor]:
        """The sum over examples of each example's squared gradient, for weight and bias, as stored.

        x (K, B, C, H, W): the input; delta (K, B, O, H', W'): the gradient by the output. The gradient of an example is
        a sum over the places of the image, and is squared after the sum. So the gradients of one run at a time are held
        in memory, (B, P, O).
        """
        linear = self.linear
        weight, bias = (x.new_zeros(len(x), rows, linear.padded) for rows in (linear.inputs, 1))
        for run, (own, delta_of_run) in enumerate(zip(x.unbind(), delta.flatten(3).unbind(), strict=True)):
            patches = unfold(self._within_zeros(own), self.kernel, stride=self.stride)  # (B, P, places)
            each = torch.bmm(patches, delta_of_run.transpose(1, 2))
            weight[run, :, : self.outputs] = each.square().sum(dim=0)
            bias[run, 0, : self.outputs] = delta_of_run.contiguous().sum(dim=2).square().sum(dim=0)
        return {f"{self.name}.weight": weight, f"{self.name}.bias": bias}

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (K, B, C, H, W) → (K, B, O, H', W'), channels last in memory."""
        (above, below), (left, right) = self.margins
        # Our kernels take steps of 1 and one margin for all sides.
        if isinstance(parameters, ThroughKernels) and self.stride == 1 and above == below == left == right:
            h = parameters.conv(self.name, x, self.kernel, above)
            return h if h.shape[2] == self.outputs else h[:, :, : self.outputs]
        if x.device.type == "cpu":
            return self.run_by_run(parameters, x)
        if self.stride == 1 and on_gpu.serves(x):
            return self.by_convolution(parameters, x)
        return self.as_patches(parameters, x)

    def by_convolution(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """The convolutions of all runs at once by our own GPU kernel, which makes no tensor of patches."""
        weight, bias = (parameters[f"{self.name}.{of}"][..., : self.outputs] for of in ("weight", "bias"))
        return on_gpu.convolution(self._within_zeros(x), weight, bias, self.kernel)

    def run_by_run(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """One convolution per run: the fastest form on a CPU, with the same bits in every pack.

        Grouped convolution is slower there, and its bits for one or two runs differ from those for three.
        """
        weight = parameters[f"{self.name}.weight"][..., : self.outputs].transpose(1, 2)
        bias = parameters[f"{self.name}.bias"][:, 0, : self.outputs]
        kernels = weight.unflatten(2, (self.image[0], self.kernel, self.kernel))
        (above, below), (left, right) = self.margins
        alike = above == below and left == right  # then the convolution lays the zeros itself, which takes no copy
        padding = (above, left) if alike else 0
        results = [
            conv2d(
                _channels_last(own if alike else self._within_zeros(own)),
                _channels_last(kernel),
                shift,
                stride=self.stride,
                padding=padding,
            )
            for own, kernel, shift in zip(x.unbind(), kernels.unbind(), bias.unbind(), strict=True)
        ]
        h = results[0] if len(results) == 1 else torch.cat(results)
        return h.unflatten(0, x.shape[:2])

    def as_patches(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """One batched matrix product of the patches of all runs, for a GPU: few kernels for any number of runs.

        The patches are stacked from shifted slices, so their gradient is a sum in a fixed order. The compiled gradient
        of torch.nn.functional.unfold is scattered by atomic additions.
        """
        (_, rows, columns), span, stride = self.produced, range(self.kernel), self.stride
        x = self._within_zeros(x)
        last_row, last_column = stride * (rows - 1) + 1, stride * (columns - 1) + 1
        shifted = [x[..., i : i + last_row : stride, j : j + last_column : stride] for i in span for j in span]
        patches = torch.stack(shifted, dim=3).permute(0, 1, 4, 5, 2, 3).reshape(len(x), -1, self.linear.inputs)
        h = self.linear(parameters, patches)
        return h.unflatten(1, (x.shape[1], rows, columns)).permute(0, 1, 4, 2, 3)

    def _within_zeros(self, x: Tensor) -> Tensor:
        """The images within their margins.  x (*, C, H, W)."""
        (above, below), (left, right) = self.margins
        return pad(x, (left, right, above, below)) if above or below or left or right else x


def _channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last)
