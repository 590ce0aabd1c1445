"""Pooling over the pixels of K runs' images.

Legend: K runs, B examples, C channels, H, W rows and columns.
"""

from torch import Tensor
from torch.nn.functional import max_pool2d


def max_pooled(x: Tensor) -> Tensor:
    """The largest of each 2 × 2 pixels: x (K, B, C, H, W) → (K, B, C, H/2, W/2), an odd last row or column left out.

    The gradient goes to the first largest pixel, row by row, as in PyTorch.
    """
    return max_pool2d(x.flatten(0, 1), 2).unflatten(0, x.shape[:2])
