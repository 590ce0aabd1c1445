"""The settings of a pack's runs, laid on the run axis."""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.component import Component


def aligned(count: int) -> int:
    """The next multiple of 4: rows of that many float32 begin on 16-byte boundaries.

    A matrix product gives a run the same bits at every place in the pack only if its slices begin on such boundaries,
    so whatever becomes a matrix's rows or columns is padded to it.
    """
    return -(-count // 4) * 4


def on_run_axis(
    components: Sequence[Component], device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """What K components of one kind put on the run axis, name → (K,)."""
    rows = [component.on_run_axis() for component in components]
    return {name: torch.tensor([row[name] for row in rows], dtype=dtype, device=device) for name in rows[0]}


def beside(values: Tensor, parameter: Tensor) -> Tensor:
    """values (K,) shaped to be multiplied with a parameter (K, ...)."""
    return values.view(-1, *([1] * (parameter.dim() - 1)))
