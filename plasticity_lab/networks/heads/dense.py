"""The heads that make one row of numbers of a feature map: hidden layers behind it, and a dense layer for each output.

Legend: K runs, B examples, C channels, H, W rows and columns, D numbers of the row.
"""

from collections.abc import Mapping, Sequence
from math import prod

from torch import Tensor

from plasticity_lab.networks.building import dense_units, output_layers
from plasticity_lab.networks.heads.head import Encoded, Head, HeadDesign
from plasticity_lab.networks.network import Activate, Layer
from plasticity_lab.stacking.pool import mean_pooled


class Dense(Head):
    """Hidden layers and outputs. Final classes define the row that they make of the maps, channel by channel."""

    def row(self, maps_KBCHW: Tensor) -> Tensor:
        """The maps → (K, B, D)."""
        raise NotImplementedError

    def length(self, maps: tuple[int, int, int]) -> int:
        """D, a multiple of C."""
        raise NotImplementedError

    def design(self, encoded: Encoded) -> HeadDesign:
        """The encoder's hidden layers one behind the other, then a layer for each output."""
        passed = self.length(encoded.maps)
        hidden: list[Layer] = []
        for name, width in encoded.hidden.items():
            hidden.append(encoded.normed(encoded.shapes.dense(name, passed, width)))
            passed = int(width * encoded.expansion)
        outputs = output_layers(encoded.shapes, passed)
        units = dense_units(encoded.hidden, outputs.receiving)
        receiving = (units[0].name,) if units else outputs.receiving
        return HeadDesign([*hidden, *outputs.layers], units, outputs.names, receiving)

    def forward(
        self, layers: Sequence[Layer], parameters: Mapping[str, Tensor], maps_KBCHW: Tensor, activate: Activate
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The row → hidden layers."""
        h = self.row(maps_KBCHW)
        for site, layer in enumerate(layers):
            h = activate(site, layer(parameters, h))
        return h, {}


class Flatten(Dense):
    """Every number of the feature map: C·H·W."""

    def row(self, maps_KBCHW: Tensor) -> Tensor:
        """All places of the first channel, then of the next."""
        return maps_KBCHW.flatten(2)

    def length(self, maps: tuple[int, int, int]) -> int:
        """C·H·W."""
        return prod(maps)


class Average(Dense):
    """The mean of each channel over all places: C numbers, independent of positions on the image.

    Global average pooling (Lin et al. 2014), before the hidden layer as in Figure 15 of Sokar et al. 2025.
    """

    def row(self, maps_KBCHW: Tensor) -> Tensor:
        """The means."""
        return mean_pooled(maps_KBCHW)

    def length(self, maps: tuple[int, int, int]) -> int:
        """C."""
        return maps[0]
