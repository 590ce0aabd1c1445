"""Pixels as floats."""

import torch
from torch import Tensor


def of_pixels(x: Tensor) -> Tensor:
    """Pixels 0 … 255 of any shape, uint8 → 0 … 1, float32: 255 becomes 1 exactly.

    A product, not a quotient: it has the same bits on every device, compiled or not.
    """
    return x.to(torch.float32) * (1 / 255)
