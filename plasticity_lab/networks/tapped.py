"""A model whose layers and units keep, of a forward pass, what they were given, and places for gradients.

Legend: K runs, B examples.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import torch
from torch import Tensor

from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Activate, Design, Layer, Network
from plasticity_lab.networks.per_example import Tap
from plasticity_lab.stacking.normed import StackedNormed


@dataclass
class Taps:
    """What a forward pass has left: layers by name, those within a normalisation, and at units, by name, the places
    behind the activation, like what it gives.
    """

    layers: dict[str, Tap] = field(default_factory=dict)
    units: dict[str, Tensor] = field(default_factory=dict)


@contextmanager
def tapped(model: Model) -> Iterator[Taps]:
    """While it lasts, each forward pass of the model is tapped, whoever asks for it: a loss, for example.

    The last pass counts. Layers and units that took no part in it (those of other bodies) are left out.
    """
    taps, network = Taps(), model.network
    model.network = cast(Network, _TappedNetwork(network, model, taps))
    try:
        yield taps
    finally:
        model.network = network


class _TappedNetwork:
    def __init__(self, network: Network, model: Model, taps: Taps) -> None:
        self.network, self.model, self.taps = network, model, taps

    def forward(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """As the network's own."""
        self.taps.layers, self.taps.units = {}, {}
        found: list[Tap] = []

        def of(layer: Layer) -> Any:
            within = layer.layer if isinstance(layer, StackedNormed) else layer
            found.append(Tap(cast(Layer, within)))
            return replace(layer, layer=found[-1]) if isinstance(layer, StackedNormed) else found[-1]

        def activated(site: int, x: Tensor) -> Tensor:
            h = activate(site, x)
            place = torch.zeros_like(h, requires_grad=True)
            self.taps.units[self.model.units[site].name] = place
            return h + place

        with torch.enable_grad():
            layers = [of(layer) for layer in design.layers]
            outputs = self.network.forward(replace(design, layers=layers), parameters, x_KBD, activated, body)
        self.taps.layers = {tap.name: tap for tap in found if tap.passed}
        return outputs
