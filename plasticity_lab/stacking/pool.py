"""Pooling over the pixels of K runs' images.

Legend: K runs, B examples, C channels, H, W rows and columns, R, S rows and columns behind the pooling.
"""

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
    top, bottom = _larger(left, right).unflatten(2, (rows, 2)).unbind(3)
    return _larger(top, bottom).movedim(-1, 2)


def _larger(first: Tensor, second: Tensor) -> Tensor:
    return torch.where((first < second) | (second != second), second, first)
