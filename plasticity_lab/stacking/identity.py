"""A layer without parameters: a normalisation around it has its input as the numbers to normalise."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor


@dataclass(frozen=True)
class StackedIdentity:
    """(K, B, O) → the same, for a normalisation that follows no single layer, as one of a residual stream.

    positions: number of rows of each example, as in `StackedLinear`.
    """

    name: str
    outputs: int
    positions: int = 1

    @property
    def produced(self) -> tuple[int, int]:
        """(O, rows), the numbers of one example."""
        return self.outputs, self.positions

    @property
    def size(self) -> int:
        """Parameters of one run: none."""
        return 0

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward: none."""
        return 0

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """No parameters."""
        return {}

    def squares(self, parameters: Mapping[str, Tensor], x: Tensor, delta: Tensor) -> dict[str, Tensor]:
        """No gradients."""
        return {}

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """The input."""
        return x
