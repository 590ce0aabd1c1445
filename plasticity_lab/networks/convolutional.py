"""The base class of convolutional networks: convolutions, pooling after some of them, then a head.

Legend: K runs, B examples, C channels, H, W rows and columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from torch import Tensor

from plasticity_lab import component
from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.encoder import Encoder, Maps
from plasticity_lab.networks.network import NORMS, Activate, Layer, Unit
from plasticity_lab.networks.tokenization import Tokens
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.pool import max_pooled

ORDERS = ("activation_pool", "pool_activation")


@dataclass(frozen=True)
class Convolution:
    """One convolution of a network.  channels: their number before the activation changes it.

    pooled: whether 2 × 2 max pooling follows.
    """

    channels: int
    kernel: int
    stride: int = 1
    pooled: bool = False


class Convolutional(Encoder):
    """Convolutions, 2 × 2 max pooling behind some of them, then a head: hidden layers, a layer for each output.

    Final classes define them. convolutions: in their order. hidden: units of the hidden layers that follow.
    `padding`: valid, or same (zeros around, images are divided by the stride alone). `order`, if there is pooling:
    activation_pool | pool_activation, which comes first. `init`: see `inits`; only kaiming uses the activation's gain.
    `norm`: one of NORMS, before each activation.
    """

    inits: ClassVar[Sequence[str]] = ("default", "kaiming")
    """The values of `init`: the distributions of first weights that the layers' `start` knows."""

    def __init__(
        self,
        convolutions: Sequence[Convolution],
        hidden: Sequence[int],
        padding: str,
        init: str,
        norm: str,
        order: str = "activation_pool",
        tokens: Tokens | None = None,
    ) -> None:
        self.tokens = tokens or Tokens()
        self.convolutions = tuple(convolutions)
        self.widths = [each.channels for each in convolutions]
        self.hidden = {f"hidden{number}": width for number, width in enumerate(hidden, start=1)}
        self.padding = check("network.padding", padding, one_of=("valid", "same"))
        self.order = check("network.order", order, one_of=ORDERS)
        self.init = check("network.init", init, one_of=self.inits)
        self.norm = check("network.norm", norm, one_of=NORMS)

    def maps(self, image: tuple[int, int, int], channels: Sequence[int], expansion: Fraction | float) -> Maps:
        """conv1 → conv2 …  Raises ConfigError for images that are too small."""
        layers, units = [], []
        names = [f"conv{number + 1}" for number in range(len(self.convolutions))]
        for name, following, each, width in zip(names, [*names[1:], None], self.convolutions, channels, strict=True):
            conv = StackedConv2d(name, image, width, each.kernel, self.padding, each.stride)
            image = self._passed_on(conv, each.pooled, expansion)
            layers.append(self.normed(conv))
            outgoing = () if following is None else (following,)
            units.append(Unit(name, self._activated(conv, each.pooled), name, outgoing, kind="channel"))
        return Maps(layers, units, image)

    def encoded(
        self, layers: Sequence[Layer], parameters: Mapping[str, Tensor], x_KBCHW: Tensor, activate: Activate
    ) -> Tensor:
        """Images → the feature map behind the last convolution, (K, B, C, H, W)."""
        x = x_KBCHW
        for site, (conv, each) in enumerate(zip(layers, self.convolutions, strict=True)):
            x = conv(parameters, x)
            if not each.pooled:
                x = activate(site, x)
            elif self.order == "activation_pool":
                x = max_pooled(activate(site, x))
            else:
                x = activate(site, max_pooled(x))
        return x

    def _activated(self, conv: StackedConv2d, pooled: bool) -> tuple[int, int, int]:
        """The shape of the activation's input behind a convolution, (C, H, W)."""
        channels, rows, columns = conv.produced
        first = not pooled or self.order == "activation_pool"
        return conv.produced if first else (channels, rows // 2, columns // 2)

    def _passed_on(self, conv: StackedConv2d, pooled: bool, expansion: Fraction | float) -> tuple[int, int, int]:
        """The shape of the next layer's input, (C, H, W).  Raises ConfigError if no pixel would be left."""
        channels, rows, columns = conv.produced
        parts = 2 if pooled else 1
        if min(rows, columns) < parts:
            received = f"({conv.image[1]} × {conv.image[2]} pixels)"
            if "kernel" not in component.parameters(type(self)):
                raise ConfigError(
                    f"network={self.called}: the kernel of {conv.name}, {conv.kernel} × {conv.kernel}, is too large "
                    f"for its input {received}; choose network.padding=same, or a smaller network."
                )
            raise ConfigError(
                f"network.kernel is {conv.kernel}, too large for the input of {conv.name} {received}; "
                "choose a smaller one, or network.padding=same."
            )
        return int(channels * expansion), rows // parts, columns // parts


def checked(channels: int, kernel: int, width: int) -> tuple[int, int, int]:
    """The settings of networks with equal convolutions.  Raises ConfigError."""
    return (
        check("network.channels", channels, at_least=1),
        check("network.kernel", kernel, at_least=1),
        check("network.width", width, at_least=1),
    )
