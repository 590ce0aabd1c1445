"""Pooling over the pixels of K runs' images.

Legend: K runs, B examples, C channels, H, W rows and columns, R, S rows and columns behind the pooling.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d


def max_pooled(x: Tensor) -> Tensor:
    """The largest of each 2 × 2 pixels: x (K, B, C, H, W) → (K, B, C, R, S), an odd last row or column left out.

    The gradient goes to the first largest pixel, row by row, and a pixel that is not a number wins: as in PyTorch.
    """
    if torch.compiler.is_compiling():
        return _of_pairs(x)
    return max_pool2d(x.flatten(0, 1), 2).unflatten(0, x.shape[:2])


def _of_pairs(x: Tensor) -> Tensor:
    """Pooling that compiles into vector loops over channels, forward and backward.

    PyTorch's own becomes a scatter of one element at a time, and strided slices become masks over the whole image.
    """
    rows, columns = x.shape[3] // 2, x.shape[4] // 2
    x_KBHWC = x[..., : 2 * rows, : 2 * columns].movedim(2, -1)
    left, right = x_KBHWC.unflatten(3, (columns, 2)).unbind(4)
    top, bottom = larger(left, right).unflatten(2, (rows, 2)).unbind(3)
    return larger(top, bottom).movedim(-1, 2)


def larger(first: Tensor, second: Tensor) -> Tensor:
    """The larger of two, the first where they are equal, and what is not a number before all.

    Who compiles tells torch to take it whole (torch.compiler.allow_in_graph): its own gradient would be forgotten.
    """
    return _Larger.apply(first, second)[0]


class _Larger(torch.autograd.Function):
    """`larger`, and 1 where it is the second, else 0.

    Left to autograd, what is kept for the gradient is booleans, which compiled loops write and read one at a time: a
    fifth of a whole step. Numbers are written a vector at a time.
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
