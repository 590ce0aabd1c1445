"""The settings of a pack's runs, laid on the run axis."""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.component import Component


def on_run_axis(components: Sequence[Component], device: torch.device | str = "cpu") -> dict[str, Tensor]:
    """The real-valued settings of K components of one kind, name → (K,) float32."""
    rows = [component.on_run_axis() for component in components]
    return {name: torch.tensor([row[name] for row in rows], dtype=torch.float32, device=device) for name in rows[0]}
