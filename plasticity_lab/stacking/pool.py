"""Pooling over the pixels of K runs' images.

Legend: K runs, B examples, N images, C channels, H, W rows and columns, P pixels, R, S rows and columns of windows.
"""

from math import inf
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d, pad

from plasticity_lab.kernels.layers import pool as pool_by_kernels
from plasticity_lab.stacking.conv import margins, places
from plasticity_lab.stacking.elementary import compiles_for_cpu
from plasticity_lab.stacking.products import row_times

_FORWARD, _BACKWARD = torch.ops.aten.max_pool2d_with_indices, torch.ops.aten.max_pool2d_with_indices_backward


def max_pooled(x: Tensor, size: int = 2, stride: int = 2, padding: str = "valid", *, kernels: bool = False) -> Tensor:
    """The largest of each size × size pixels, in steps of `stride`: x (K, B, C, H, W) → (K, B, C, R, S).

    padding: valid (last rows and columns without a whole window are left out), or same (−∞ around, see `margins`; R and
    S are H and W divided by the stride, rounded up). As in PyTorch, the gradient goes to the first largest pixel of a
    window, row by row, and nan wins. kernels: whether our kernels compute windows that overlap (see `ThroughKernels`).
    """
    (above, below), (left, right) = (margins(side, size, stride, padding) for side in x.shape[3:])
    if (kernels or compiles_for_cpu(x)) and size > stride > 1:
        # Windows that overlap compile badly: by offset, they took a sixth of an update of network=impala.
        high, wide = (places(side, size, stride, padding) for side in x.shape[3:])
        pooled = pool_by_kernels if kernels else whole_pool
        found = pooled(x.flatten(0, 1).movedim(1, -1), size, stride, above, left, high, wide)
        return found.movedim(-1, 1).unflatten(0, x.shape[:2])
    if above or below or left or right:
        x = pad(x.flatten(0, 1), (left, right, above, below), value=-inf).unflatten(0, x.shape[:2])
    if torch.compiler.is_compiling():
        return _by_offset(x, size, stride)
    return max_pool2d(x.flatten(0, 1), size, stride).unflatten(0, x.shape[:2])


def mean_pooled(x: Tensor) -> Tensor:
    """The mean of each channel over all pixels, by a product of matrices: its bits do not depend on the pack.

    x (K, B, C, H, W) → (K, B, C). Global average pooling (Lin et al. 2014).
    """
    places_KBPC = x.movedim(2, -1).flatten(2, 3)
    runs, examples, places, _ = places_KBPC.shape
    # Made contiguous: the memory layout of a run's maps may differ between a pack and a run alone, and change the bits.
    of_each = places_KBPC.contiguous().flatten(0, 1)
    share = torch.full((runs * examples, places), 1 / places, dtype=of_each.dtype, device=of_each.device)
    return row_times(share, of_each).unflatten(0, (runs, examples))


def _by_offset(x: Tensor, size: int, stride: int) -> Tensor:
    """Pooling that compiles into vector loops over channels, forward and backward.

    PyTorch's own becomes a scatter of one element at a time, and strided slices become masks over the whole image.
    """
    of_columns = _of_windows(x.movedim(2, -1), 3, size, stride)
    return _of_windows(of_columns, 2, size, stride).movedim(-1, 2)


def _of_windows(x: Tensor, axis: int, size: int, stride: int) -> Tensor:
    """The largest of each `size` neighbours along an axis, in steps of `stride`.

    The axis is cut into steps: the n-th neighbours of all windows are one slice at the same place of a step.
    """
    count = places(x.shape[axis], size, stride, "valid")
    steps = count + (size - 1) // stride
    missing = steps * stride - x.shape[axis]
    if missing > 0:  # the last step's end, which no window sees
        unseen = x.new_zeros(*x.shape[:axis], missing, *x.shape[axis + 1 :])
        x = torch.cat([x, unseen], dim=axis)
    at = x.narrow(axis, 0, steps * stride).unflatten(axis, (steps, stride)).unbind(axis + 1)
    first, *others = (at[n % stride].narrow(axis, n // stride, count) for n in range(size))
    for other in others:
        first = larger(first, other)
    return first


def larger(first: Tensor, second: Tensor) -> Tensor:
    """The larger of two; the first if they are equal; nan if one is nan.

    Before it is compiled it must be given to torch.compiler.allow_in_graph, or its gradient is lost.
    """
    return _Larger.apply(first, second)[0]


class _Larger(torch.autograd.Function):
    """`larger`, and a mask: 1 if the second is the larger one, 0 otherwise.

    Autograd would keep booleans for the gradient, which compiled loops write and read one at a time: a fifth of a whole
    step. Floats are written a vector at a time.
    """

    @staticmethod
    def forward(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        later = ((first < second) | (second != second)).to(first.dtype)
        return torch.where(later > 0, second, first), later

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        later = output[1]
        context.mark_non_differentiable(later)
        context.save_for_backward(later)

    @staticmethod
    def backward(context: Any, delta: Tensor, _: Any) -> tuple[Tensor, Tensor]:
        # Not `> 0` again: a comparison that both loops use would be kept, as booleans.
        later = context.saved_tensors[0] != 0
        return torch.where(later, 0.0, delta), torch.where(later, delta, 0.0)


# Max pooling by the loops of torch for a CPU, which a compiled graph calls as they are.


@torch.library.custom_op("plasticity_lab::max_pool", mutates_args=())
def _pool(x_NHWC: Tensor, size: int, stride: int, above: int, left: int, high: int, wide: int) -> tuple[Tensor, Tensor]:
    """The largest pixels, (N, R, S, C), and their indices."""
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
    """The gradient by x, (N, H, W, C), from the gradient by the largest pixels."""
    window = _window(size, stride, above, left, (rows, columns), delta_NRSC.shape[1:3])
    # The operator reads only the shape of the pooled tensor.
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
    """The largest of each size × size pixels, in steps of `stride` of 2 or more: (N, R, S, C).

    above, left: rows and columns of the first window outside of the image, at most half a window. Pixels outside of the
    image are −∞. high, wide: R and S. See `kernels.layers.pool`, which computes the same.

    Before it is compiled it must be given to torch.compiler.allow_in_graph, or its gradient is lost.
    """
    return _WholePool.apply(x_NHWC.contiguous(), size, stride, above, left, high, wide)[0]


def _window(
    size: int, stride: int, above: int, left: int, image: tuple[int, ...], produced: tuple[int, ...]
) -> tuple[list[int], list[int], list[int], list[int], bool]:
    """The arguments of torch: kernel, stride, padding, dilation, and whether the last windows reach over the image."""
    sides = zip(image, (above, left), produced, strict=True)
    over = any((side + 2 * before - size) // stride + 1 < count for side, before, count in sides)
    return [size, size], [stride, stride], [above, left], [1, 1], over
