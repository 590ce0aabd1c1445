"""What a head is: the layers between an encoder's feature map and the outputs, and a forward pass over them.

Legend: K runs, B examples, C channels, H, W rows and columns, O numbers of an output.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from torch import Tensor

from plasticity_lab.component import Component
from plasticity_lab.networks.network import Activate, Layer, Shapes, Unit
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.noisy import StackedNoisyLinear


@dataclass(frozen=True)
class Encoded:
    """What an encoder hands over to a head, and what it asks of it.

    maps: (C, H, W), what the activation behind the encoder passes on of one example. shapes: of the network; its dense
    layers are `shapes.dense`. hidden: name → how many units the network has in a hidden layer of that name. expansion:
    how many values the activation passes on for each. normed: a layer that the activation follows → that layer with
    what the network's `norm` puts behind it. tokens: (M, D), of a head that takes tokens.
    """

    maps: tuple[int, int, int]
    shapes: Shapes
    hidden: Mapping[str, int]
    expansion: Fraction | float
    normed: Callable[[StackedLinear | StackedNoisyLinear], Layer]
    tokens: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class HeadDesign:
    """The layers of a head in the order of the forward pass, and its units in that of their activations.

    outputs: name → the layer that answers it. receiving: the layers that are given the feature map: what the encoder's
    last channels pass on is multiplied with their rows, channel by channel (see `units.outgoing_rows`). losses: as
    `Design` has them.
    """

    layers: Sequence[Layer]
    units: Sequence[Unit]
    outputs: Mapping[str, str]
    receiving: tuple[str, ...]
    losses: tuple[str, ...] = ()


class Head(Component):
    """A way from feature maps to outputs. Final classes lay out its design and write the forward pass over it.

    takes_tokens: whether it is given tokens (K, B, M, D) in the place of maps (see `tokenization`).
    """

    takes_tokens: ClassVar[bool] = False

    has_experts: ClassVar[bool] = False
    """Whether units of kind expert stand in it."""

    def design(self, encoded: Encoded) -> HeadDesign:
        """The layers and units behind an encoder.  Raises ConfigError for maps that it cannot take."""
        raise NotImplementedError

    def forward(
        self, layers: Sequence[Layer], parameters: Mapping[str, Tensor], maps_KBCHW: Tensor, activate: Activate
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The feature maps, or tokens → the features that the output layers receive, (K, B, D), and the head's losses.

        layers: those of the design without the output layers, in its order. activate: the activation at the n-th of the
        head's own units.
        """
        raise NotImplementedError
