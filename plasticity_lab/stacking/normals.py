"""Normally distributed numbers out of uniform ones, with the same bits alone and in a pack, compiled too."""

from math import pi

import torch
from torch import Tensor

from plasticity_lab.stacking import elementary


def normals(uniforms_KN: Tensor) -> Tensor:
    """Independent standard normal numbers.  uniforms (K, N) in [0, 1), N even → like them.

    Source: Box and Muller 1958. On the grid of `randomness.device.uniforms` none is larger than 5.8.
    """
    first, second = uniforms_KN.chunk(2, dim=1)
    radius = (-2 * elementary.log(1 - first)).sqrt()
    sine, cosine = elementary.sin_and_cos(2 * pi * second)
    return torch.cat([radius * cosine, radius * sine], dim=1)
