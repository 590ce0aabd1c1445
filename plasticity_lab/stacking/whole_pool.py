"""Max pooling on a CPU by torch's own loops, which a compiled graph calls as they are.

Legend: N images, C channels next to each other in memory, H, W rows and columns, R, S rows and columns behind the
pooling.
"""

from typing import Any

import torch
from torch import Tensor

_POOL, _GRADIENT = torch.ops.aten.max_pool2d_with_indices, torch.ops.aten.max_pool2d_with_indices_backward
Window = tuple[int, int, list[int], bool]
"""Pixels of a side, steps, pixels above and left that are not there, whether some are missing below and right too."""


@torch.library.custom_op("plasticity_lab::max_pool", mutates_args=())
def _of_values(
    x_NHWC: Tensor, size: int, stride: int, before: list[int], over: bool, rows: int, columns: int
) -> tuple[Tensor, Tensor]:
    """The largest pixels, (N, R, S, C), and where each stood; rows, columns: R and S."""
    found, where = _POOL(x_NHWC.movedim(-1, 1), [size, size], [stride, stride], before, [1, 1], over)
    return found.movedim(1, -1), where.movedim(1, -1)


@_of_values.register_fake
def _(
    x_NHWC: Tensor, size: int, stride: int, before: list[int], over: bool, rows: int, columns: int
) -> tuple[Tensor, Tensor]:
    found = x_NHWC.new_empty(len(x_NHWC), rows, columns, x_NHWC.shape[3])
    return found, torch.empty_like(found, dtype=torch.int64)


@torch.library.custom_op("plasticity_lab::max_pool_gradient", mutates_args=())
def _gradient(
    delta_NRSC: Tensor, where: Tensor, size: int, stride: int, before: list[int], over: bool, rows: int, columns: int
) -> Tensor:
    """The gradient by x from that by the largest pixels; rows, columns: H and W."""
    delta, found_at = (each.movedim(-1, 1) for each in (delta_NRSC, where))
    # Of what was pooled only the shape is read.
    shape = torch.empty(len(delta), rows, columns, delta.shape[1]).movedim(-1, 1)
    window = [size, size], [stride, stride], before, [1, 1], over
    return _GRADIENT(delta, shape, *window, found_at).movedim(1, -1)


@_gradient.register_fake
def _(
    delta_NRSC: Tensor, where: Tensor, size: int, stride: int, before: list[int], over: bool, rows: int, columns: int
) -> Tensor:
    return delta_NRSC.new_empty(len(delta_NRSC), rows, columns, delta_NRSC.shape[3])


class _WholePool(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor, size: int, stride: int, before: list[int], over: bool, rows: int, columns: int
    ) -> tuple[Tensor, Tensor]:
        return _of_values(x, size, stride, before, over, rows, columns)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        x, *context.window, _, _ = inputs
        context.image, where = x.shape[1:3], output[1]
        context.mark_non_differentiable(where)
        context.save_for_backward(where)

    @staticmethod
    def backward(context: Any, delta: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        (where,) = context.saved_tensors
        with torch.no_grad():  # it has a first derivative alone, as all that is compiled
            return _gradient(delta.contiguous(), where, *context.window, *context.image), *[None] * 6


def whole_pool(
    x_NHWC: Tensor, size: int, stride: int, before: tuple[int, int], over: bool, produced: tuple[int, int]
) -> Tensor:
    """The largest of each size × size pixels, in steps of `stride`: (N, H, W, C) → (N, R, S, C).

    before: rows above and columns left of the image that windows reach, −∞. over: whether the last windows reach over
    the image below and right. produced: (R, S).

    Who compiles has torch take it whole (torch.compiler.allow_in_graph): its own gradient would be forgotten.
    """
    return _WholePool.apply(x_NHWC.contiguous(), size, stride, list(before), over, *produced)[0]
