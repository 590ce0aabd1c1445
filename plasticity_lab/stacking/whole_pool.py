"""Max pooling on a CPU by torch's own loops, which a compiled graph calls as they are.

Legend: N images, C channels next to each other in memory, H, W rows and columns, R, S rows and columns of windows.
"""

from typing import Any

import torch
from torch import Tensor

_FORWARD, _BACKWARD = torch.ops.aten.max_pool2d_with_indices, torch.ops.aten.max_pool2d_with_indices_backward


@torch.library.custom_op("plasticity_lab::max_pool", mutates_args=())
def _pool(x_NHWC: Tensor, size: int, stride: int, above: int, left: int, high: int, wide: int) -> tuple[Tensor, Tensor]:
    """The largest pixels, (N, R, S, C), and where each stood."""
    window = _window(size, stride, above, left, x_NHWC.shape[1:3], (high, wide))
    found, where = _FORWARD(x_NHWC.movedim(-1, 1), *window)
    return found.movedim(1, -1), where.movedim(1, -1)


@_pool.register_fake
def _(x_NHWC: Tensor, size: int, stride: int, above: int, left: int, high: int, wide: int) -> tuple[Tensor, Tensor]:
    found = x_NHWC.new_empty(len(x_NHWC), high, wide, x_NHWC.shape[3])
    return found, torch.empty_like(found, dtype=torch.int64)


@torch.library.custom_op("plasticity_lab::max_pool_input", mutates_args=())
def _pool_input(
    delta_NRSC: Tensor, where: Tensor, size: int, stride: int, above: int, left: int, rows: int, columns: int
) -> Tensor:
    """The gradient by x, (N, H, W, C), from that by the largest pixels."""
    window = _window(size, stride, above, left, (rows, columns), delta_NRSC.shape[1:3])
    # Of what was pooled only the shape is read.
    shape = delta_NRSC.new_empty(len(delta_NRSC), rows, columns, delta_NRSC.shape[3]).movedim(-1, 1)
    return _BACKWARD(delta_NRSC.movedim(-1, 1), shape, *window, where.movedim(-1, 1)).movedim(1, -1)


@_pool_input.register_fake
def _(
    delta_NRSC: Tensor, where: Tensor, size: int, stride: int, above: int, left: int, rows: int, columns: int
) -> Tensor:
    return delta_NRSC.new_empty(len(delta_NRSC), rows, columns, delta_NRSC.shape[3])


class _WholePool(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor, size: int, stride: int, above: int, left: int, high: int, wide: int
    ) -> tuple[Tensor, Tensor]:
        return _pool(x, size, stride, above, left, high, wide)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        x, *context.windows, _, _ = inputs
        context.image, where = x.shape[1:3], output[1]
        context.mark_non_differentiable(where)
        context.save_for_backward(where)

    @staticmethod
    def backward(context: Any, delta: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        (where,) = context.saved_tensors
        with torch.no_grad():  # it has a first derivative alone, as all that is compiled
            return _pool_input(delta.contiguous(), where, *context.windows, *context.image), *[None] * 6


def whole_pool(x_NHWC: Tensor, size: int, stride: int, above: int, left: int, high: int, wide: int) -> Tensor:
    """The largest of each size × size pixels, in steps of `stride` of 2 or more: (N, R, S, C); see `kernels.pool.pool`.

    above, left: rows and columns outside of the image with which the first window begins, half a window at most; they
    are −∞, as those are that the last windows reach. high, wide: R and S.

    Who compiles has torch take it whole (torch.compiler.allow_in_graph): its own gradient would be forgotten.
    """
    return _WholePool.apply(x_NHWC.contiguous(), size, stride, above, left, high, wide)[0]


def _window(
    size: int, stride: int, above: int, left: int, image: tuple[int, ...], produced: tuple[int, ...]
) -> tuple[list[int], list[int], list[int], list[int], bool]:
    """As torch says it: kernel, stride, padding, dilation, and whether the last windows reach over the image."""
    sides = zip(image, (above, left), produced, strict=True)
    over = any((side + 2 * before - size) // stride + 1 < count for side, before, count in sides)
    return [size, size], [stride, stride], [above, left], [1, 1], over
