"""The first tokens of K runs' transformers: a learned class token before an image's patches, and learned positions.

Legend: K runs, B examples, N tokens, D numbers of each, O numbers of all, N · D.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.stacking.normed import at_each_row

DEVIATION = 0.02  # Dosovitskiy et al. 2021


@dataclass(frozen=True)
class StackedTokens:
    """The patches with learned positions, behind a class token: (K, B, N − 1, D) → (K, B, N, D).

    `<name>.value` (K, N, D): first the class token, which is its position too, then the position of each patch; at
    first normal numbers of deviation 0.02 for any `init`. tokens: N. outputs: D.
    """

    name: str
    tokens: int
    outputs: int

    @property
    def size(self) -> int:
        """Parameters of one run."""
        return self.tokens * self.outputs

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward: none."""
        return 0

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, float32: value (N, D)."""
        return {
            f"{self.name}.value": (DEVIATION * draw.standard_normal((self.tokens, self.outputs))).astype(np.float32)
        }

    def squares(self, parameters: Mapping[str, Tensor], x: Tensor, delta_KBND: Tensor) -> dict[str, Tensor]:
        """The sum over examples of each example's squared gradient, (K, N, D).  delta: the gradient by the output."""
        return {f"{self.name}.value": torch.stack([delta.square().sum(dim=0) for delta in delta_KBND.unbind()])}

    def __call__(self, parameters: Mapping[str, Tensor], patches_KBND: Tensor) -> Tensor:
        """(K, B, N − 1, D) → (K, B, N, D)."""
        rows_KBO = pad(patches_KBND, (0, 0, 1, 0)).flatten(2)
        value_K1O = parameters[f"{self.name}.value"].flatten(1).unsqueeze(1)
        return (rows_KBO + at_each_row(value_K1O, rows_KBO)).unflatten(2, (self.tokens, self.outputs))
