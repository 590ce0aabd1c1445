"""Layers that take random numbers in training, and how these reach them through a network that knows nothing of it.

Legend: K runs, B examples, N random numbers.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class TakesNoise(Protocol):
    """A layer (see `networks.network.Layer`) that is noisy in training."""

    @property
    def name(self) -> str:
        """The layer's."""
        ...

    def noise(self, batch: int) -> int:
        """Numbers in [0, 1) that a pass of a batch takes for one run; 0 where it takes none after all."""
        ...

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor, noise_KN: Tensor | None = None, /) -> Tensor:
        """x (K, B, ...) → (K, B, ...).  noise: `noise(B)` numbers of each run; None in evaluation."""
        ...


class WithNoise:
    """A layer with the numbers of one pass: a network calls it as any other layer."""

    def __init__(self, layer: TakesNoise, noise_KN: Tensor) -> None:
        self.layer, self.name, self.noise_KN = layer, layer.name, noise_KN

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """What the layer makes of x, (K, B, ...)."""
        return self.layer(parameters, x, self.noise_KN)
