"""Max pooling by our kernels, with its gradient, inside and outside of compiled graphs.

Legend: N images, H, W rows and columns, C channels, R, S rows and columns of windows.
"""

from typing import Any

import torch
from torch import Tensor


class _Pool(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor, size: int, stride: int, above: int, left: int, high: int, wide: int
    ) -> tuple[Tensor, Tensor]:
        return torch.ops.plasticity_lab.pool(x, size, stride, above, left, high, wide)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        x, *context.windows, _, _ = inputs
        context.image = x.shape[1:3]
        context.mark_non_differentiable(output[1])
        context.save_for_backward(output[1])

    @staticmethod
    def backward(context: Any, delta: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        (where,) = context.saved_tensors
        found = torch.ops.plasticity_lab.pool_input(delta.contiguous(), where, *context.windows, *context.image)
        return found, *[None] * 6


def pool(x_NHWC: Tensor, size: int, stride: int, above: int, left: int, high: int, wide: int) -> Tensor:
    """The largest of each size × size pixels, in steps of `stride`: (N, R, S, C); no pixel lies beyond the image.

    above, left: rows and columns outside of the image with which the first window begins. high, wide: R and S.
    """
    return _Pool.apply(x_NHWC.contiguous(), size, stride, above, left, high, wide)[0]


def tell_shapes() -> None:
    """Tells torch the shapes of what the operators return; once, when they are loaded."""
    fake = torch.library.register_fake

    @fake("plasticity_lab::pool")
    def _(x: Tensor, size: int, stride: int, above: int, left: int, high: int, wide: int) -> tuple[Tensor, Tensor]:
        shape = x.shape[0], high, wide, x.shape[3]
        return x.new_empty(shape), x.new_empty(shape)

    @fake("plasticity_lab::pool_input")
    def _(
        delta: Tensor, where: Tensor, size: int, stride: int, above: int, left: int, rows: int, columns: int
    ) -> Tensor:
        return delta.new_empty(delta.shape[0], rows, columns, delta.shape[3])
