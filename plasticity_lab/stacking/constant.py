"""K rows of learned numbers that do not depend on the network's input.

Legend: K runs, B examples, O numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class StackedConstant:
    """K rows of O numbers, the same for every example: `<name>.value` (K, 1, O), initially zero for any `init`.

    It is a layer without multiplications, for example the width of a Gaussian policy.
    """

    name: str
    outputs: int

    @property
    def size(self) -> int:
        """Parameters of one run."""
        return self.outputs

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward."""
        return 0

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, float32: value (1, O), zero."""
        return {f"{self.name}.value": np.zeros((1, self.outputs), np.float32)}

    def squares(self, parameters: Mapping[str, Tensor], x: Tensor, delta_KBO: Tensor) -> dict[str, Tensor]:
        """The sum over examples of each example's squared gradient, (K, 1, O).  delta: the gradients by the outputs."""
        each = [delta.square().sum(dim=0, keepdim=True) for delta in delta_KBO.unbind()]
        return {f"{self.name}.value": torch.stack(each)}

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (K, B, ...) → (K, B, O), the same for each of the B."""
        return parameters[f"{self.name}.value"].expand(-1, x.shape[1], -1)
