"""A factor for each run on the input of the next layer.

Legend: K runs, B examples, D numbers of an example.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.stacking.normed import at_each_row


@dataclass(frozen=True)
class StackedScale:
    """x · s for each run: a fixed number, or learned: `<name>.value` (K, 1, 1), which begins at `first`.

    outputs: D. Source: the code of Chung et al. 2024 (`ScaleLayer`; docs/pages/reference/interventions/parseval.md).
    """

    name: str
    outputs: int
    first: float
    learned: bool

    @property
    def size(self) -> int:
        """Parameters of one run."""
        return int(self.learned)

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward."""
        return self.outputs

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, float32: value (1, 1), if it is learned."""
        return {f"{self.name}.value": np.full((1, 1), self.first, np.float32)} if self.learned else {}

    def squares(self, parameters: Mapping[str, Tensor], x: Tensor, delta: Tensor) -> dict[str, Tensor]:
        """The sum over examples of each example's squared gradient, (K, 1, 1).  x, delta: (K, B, D)."""
        if not self.learned:
            return {}
        each = [(run * of_run).sum(dim=1).square().sum() for run, of_run in zip(x, delta, strict=True)]
        return {f"{self.name}.value": torch.stack(each).view(-1, 1, 1)}

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (K, B, D) → (K, B, D)."""
        if not self.learned:
            return x * self.first
        rows = x.flatten(1).unsqueeze(-1)  # one number a row, so that the gradient's sum is a matrix product
        return (rows * at_each_row(parameters[f"{self.name}.value"], rows)).view(x.shape)
