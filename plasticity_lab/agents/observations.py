"""The types of observations on the host and on the device."""

import numpy as np
import torch
from numpy.typing import DTypeLike
from torch import Tensor

from plasticity_lab.stacking.pixels import of_pixels

TYPES = {np.dtype(np.float32): torch.float32, np.dtype(np.uint8): torch.uint8}


def torch_type(dtype: DTypeLike) -> torch.dtype:
    """The torch dtype for observations of that NumPy dtype. Raises ValueError unless it is float32 or uint8."""
    found = TYPES.get(np.dtype(dtype))
    if found is None:
        raise ValueError(f"Observations are of type {np.dtype(dtype)}; they must be float32 or uint8.")
    return found


def as_floats(observations: Tensor) -> Tensor:
    """The network's input, float32 of the same shape: bytes (uint8) are scaled to 0 … 1; float32 is returned
    unchanged.
    """
    return of_pixels(observations) if observations.dtype == torch.uint8 else observations
