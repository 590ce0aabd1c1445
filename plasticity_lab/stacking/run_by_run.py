"""One run of a pack after the other, for PyTorch's fused CPU kernels.

Eager, such a kernel is two to ten times as fast as composed operations, each of which walks through memory once more.
One call a run, so that which elements a kernel's vector loop leaves to the scalar tail never depends on the mates.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

Tensors = Mapping[str, Tensor]


def kernels_serve(settings: Tensors) -> bool:
    """Whether the step is eager and on the CPU; a compiled one, or one on a GPU, is composed of operations."""
    return settings["lr"].device.type == "cpu" and not torch.compiler.is_compiling()


def slices(parameters: Tensors, gradients: Tensors, *moments: Tensors) -> Iterator[tuple[tuple[Tensor, ...], ...]]:
    """For each run its slices of all parameters, of their gradients, and of each moment.

    The kernels walk through memory as if everything were contiguous, which a gradient need not be.
    """
    dense = {name: gradients[name].contiguous() for name in parameters}
    groups = (parameters, dense, *moments)
    return zip(*(zip(*(group[name].unbind() for name in parameters), strict=True) for group in groups), strict=True)


def numbers(settings: Tensors, *names: str) -> Iterator[tuple[float, ...]]:
    """For each run its settings of those names."""
    return zip(*(settings[name].tolist() for name in names), strict=True)
