"""The settings of a pack's runs on the run axis."""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.component import Component


def aligned(count: int) -> int:
    """The next multiple of 4: rows of that many float32 begin on 16-byte boundaries.

    A matrix product gives a run the same bits at every place in the pack only if its slices begin on such boundaries,
    so rows and columns of matrices are padded to it.
    """
    return -(-count // 4) * 4


def on_run_axis(
    components: Sequence[Component], device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """The settings of K components of one kind on the run axis, name → (K,)."""
    rows = [component.on_run_axis() for component in components]
    return {name: torch.tensor([row[name] for row in rows], dtype=dtype, device=device) for name in rows[0]}


def beside(values: Tensor, parameter: Tensor) -> Tensor:
    """values (K,), reshaped to broadcast over a parameter (K, ...)."""
    return values.view(-1, *([1] * (parameter.dim() - 1)))
