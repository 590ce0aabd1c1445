"""The base class of heads: the layers between an encoder's feature map and the outputs, and their forward pass.

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
    """The information that an encoder gives to a head.

    maps: (C, H, W), the shape of one example's activated feature map. shapes: the shapes of the network; its dense
    layers are `shapes.dense`. hidden: name → number of units of the network's hidden layer of that name. expansion: the
    number of values that the activation passes on for each. normed: a layer before an activation → the layer with the
    network's `norm`. tokens: (M, D), for a head that takes tokens.
    """

    maps: tuple[int, int, int]
    shapes: Shapes
    hidden: Mapping[str, int]
    expansion: Fraction | float
    normed: Callable[[StackedLinear | StackedNoisyLinear], Layer]
    tokens: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class HeadDesign:
    """The layers of a head in the order of the forward pass, and its units in the order of their activations.

    outputs: name → the layer that computes it. receiving: the layers that receive the feature map; their rows belong to
    the encoder's last channels, channel by channel (see `units.outgoing_rows`). losses: see `Design`.
    """

    layers: Sequence[Layer]
    units: Sequence[Unit]
    outputs: Mapping[str, str]
    receiving: tuple[str, ...]
    losses: tuple[str, ...] = ()


class Head(Component):
    """The base class of heads, from feature maps to outputs. Final classes define its design and the forward pass over
    it.

    takes_tokens: whether it receives tokens (K, B, M, D) instead of maps (see `tokenization`).
    """

    takes_tokens: ClassVar[bool] = False

    has_experts: ClassVar[bool] = False
    """Whether it has units of kind expert."""

    def design(self, encoded: Encoded) -> HeadDesign:
        """The layers and units behind an encoder.  Raises ConfigError for maps that it cannot take."""
        raise NotImplementedError

    def forward(
        self, layers: Sequence[Layer], parameters: Mapping[str, Tensor], maps_KBCHW: Tensor, activate: Activate
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The feature maps, or tokens → the features that the output layers receive, (K, B, D), and the head's losses.

        layers: the design's layers without the output layers, in its order. activate: the activation at the n-th of the
        head's own units.
        """
        raise NotImplementedError
