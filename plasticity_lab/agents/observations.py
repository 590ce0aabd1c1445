"""Observations on their way into a network: as they travel, and as floats.

Legend: * any shape.
"""

import numpy as np
import torch
from numpy.typing import DTypeLike
from torch import Tensor

WHITE = 255.0
"""The largest byte, which becomes 1."""
TYPES = {np.dtype(np.float32): torch.float32, np.dtype(np.uint8): torch.uint8}


def torch_type(dtype: DTypeLike) -> torch.dtype:
    """The tensor's type for observations of that type of array.  Raises ValueError unless it is float32 or uint8."""
    found = TYPES.get(np.dtype(dtype))
    if found is None:
        raise ValueError(f"Observations are of type {np.dtype(dtype)}; they must be float32 or uint8.")
    return found


def as_floats(observations: Tensor) -> Tensor:
    """What a network is given, float32 like *: bytes (uint8) are scaled to 0 … 1; float32 stays, bit for bit."""
    return observations.float() / WHITE if observations.dtype == torch.uint8 else observations
