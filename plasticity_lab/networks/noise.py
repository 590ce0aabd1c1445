"""Layers that take random numbers in training, and such a layer with the numbers of one pass.

Legend: K runs, B examples, N random numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class TakesNoise(Protocol):
    """A layer (see `networks.network.Layer`) that takes random numbers in training."""

    @property
    def name(self) -> str:
        """The name of the layer."""
        ...

    def noise(self, batch: int) -> int:
        """Numbers in [0, 1) that one run takes for a batch; 0 if the layer is not noisy after all."""
        ...

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor, noise_KN: Tensor | None = None, /) -> Tensor:
        """x (K, B, ...) → (K, B, ...).  noise: `noise(B)` numbers of each run; None in evaluation."""
        ...


class WithNoise:
    """A noisy layer with the random numbers of one pass: the network calls it like any other layer."""

    def __init__(self, layer: TakesNoise, noise_KN: Tensor) -> None:
        self.layer, self.name, self.noise_KN = layer, layer.name, noise_KN

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """The output of the layer, (K, B, ...)."""
        return self.layer(parameters, x, self.noise_KN)


def with_noise(layers: Sequence[Any], noisy: Iterable[TakesNoise], noise: Tensor, batch: int) -> list[Any]:
    """The layers, with each noisy one wrapped with its random numbers.  noise: (K, N) of all noisy layers in turn."""
    wrapped: dict[str, WithNoise] = {}
    taken = 0
    for layer in noisy:
        count = layer.noise(batch)
        wrapped[layer.name] = WithNoise(layer, noise[:, taken : taken + count])
        taken += count
    return [wrapped.get(layer.name, layer) for layer in layers]
