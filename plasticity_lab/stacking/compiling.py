"""For whom code is traced, where it is not the same for all."""

import torch
from torch import Tensor


def compiles_for_cpu(x: Tensor) -> bool:
    """Whether what is done to x is being traced into a graph that a CPU computes."""
    return torch.compiler.is_compiling() and x.device.type == "cpu"
