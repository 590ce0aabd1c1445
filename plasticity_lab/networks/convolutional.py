"""What the convolutional networks have in common: convolutions with pooling behind some, then hidden layers.

Legend: K runs, B examples, C channels, H, W rows and columns, O numbers of an output.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import ClassVar

from torch import Tensor

from plasticity_lab import component
from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.network import NORMS, Activate, Design, Network, Shapes, Unit, only_body, output_layers
from plasticity_lab.networks.width import trim, trimmed
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.pool import max_pooled

ORDERS = ("activation_pool", "pool_activation")


@dataclass(frozen=True)
class Convolution:
    """One convolution of a network.  channels: before an activation adds some or takes some away.

    pooled: whether 2 × 2 max pooling follows.
    """

    channels: int
    kernel: int
    stride: int = 1
    pooled: bool = False


class Convolutional(Network):
    """Convolutions, 2 × 2 max pooling behind some of them, hidden layers, a linear layer for each output.

    Final classes say which there are. convolutions: in their order. hidden: units of the hidden layers that follow.
    `padding`: valid, or same (zeros around, images are divided by the stride alone). `order`, where there is pooling:
    activation_pool | pool_activation, which comes first. `init`: see `inits`; all but kaiming do without the
    activation's gain. `norm`: none, or layer, before each activation.
    """

    called: ClassVar[str]
    """Its name in conf/network, for messages."""

    inits: ClassVar[Sequence[str]] = ("default", "kaiming")
    """What `init` can be: first weights as the layers' `start` has them."""

    def __init__(
        self,
        convolutions: Sequence[Convolution],
        hidden: Sequence[int],
        padding: str,
        init: str,
        norm: str,
        order: str = "activation_pool",
    ) -> None:
        self.convolutions, self.hidden = tuple(convolutions), tuple(hidden)
        self.padding = check("network.padding", padding, one_of=("valid", "same"))
        self.order = check("network.order", order, one_of=ORDERS)
        self.init = check("network.init", init, one_of=self.inits)
        self.norm = check("network.norm", norm, one_of=NORMS)

    def design(self, bodies: Mapping[str, Shapes], activation: Activation) -> Design:
        """conv1 → conv2 … → hidden1 … → a layer for each output.

        Raises ConfigError for images that are too small, and for what is no image.
        """
        shapes = only_body(bodies, self.called)
        if len(shapes.inputs) != 3:
            raise ConfigError(
                f"network={self.called} takes images, and what is given here has the shape {shapes.inputs}; "
                "network=mlp takes it."
            )

        widths = [*(each.channels for each in self.convolutions), *self.hidden]

        def adapted(percent: int = 0) -> Design:
            produced = [activation.produced(trimmed(width, percent)) for width in widths]
            return self._of_widths(shapes, produced, activation.expansion)

        if activation.matches_parameters:
            plain = self._of_widths(shapes, widths, 1)
            return adapted(trim(plain.size, lambda percent: adapted(percent).size))
        return adapted()

    def forward(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """Pixels, channel by channel (K, B, C·H·W) → the outputs, name → (K, B, O)."""
        count = len(self.convolutions)
        hidden, outputs = design.layers[count:][: len(self.hidden)], design.layers[-len(design.outputs) :]
        x = x_KBD.unflatten(2, design.layers[0].image)
        for site, (conv, each) in enumerate(zip(design.layers[:count], self.convolutions, strict=True)):
            x = conv(parameters, x)
            if not each.pooled:
                x = activate(site, x)
            elif self.order == "activation_pool":
                x = max_pooled(activate(site, x))
            else:
                x = activate(site, max_pooled(x))
        h = x.flatten(2)
        for site, layer in enumerate(hidden, start=count):
            h = activate(site, layer(parameters, h))
        return {name: layer(parameters, h) for name, layer in zip(design.outputs, outputs, strict=True)}

    def _of_widths(self, shapes: Shapes, widths: Sequence[int], expansion: Fraction | float) -> Design:
        """The design whose layers produce those channels and units; expansion times as many values go on.

        widths: of the convolutions, then of the hidden layers.
        """
        image, layers, units = shapes.inputs, [], []
        for number, (each, channels) in enumerate(zip(self.convolutions, widths, strict=False), start=1):
            conv = StackedConv2d(f"conv{number}", image, channels, each.kernel, self.padding, each.stride)
            image = self._passed_on(conv, each.pooled, expansion)
            layers.append(self.normed(conv))
            units.append((conv.name, self._activated(conv, each.pooled)))
        passed = prod(image)
        for number, width in enumerate(widths[len(self.convolutions) :], start=1):
            layers.append(self.normed(shapes.dense(f"hidden{number}", passed, width)))
            units.append((f"hidden{number}", (width,)))
            passed = int(width * expansion)
        outputs = output_layers(shapes, passed)
        following = [*((name,) for name, _ in units[1:]), tuple(outputs[name].name for name in shapes.outputs)]
        return Design(
            [*layers, *outputs.values()],
            [
                Unit(name, produced, name, outgoing, kind="channel" if len(produced) == 3 else "unit")
                for (name, produced), outgoing in zip(units, following, strict=True)
            ],
            {name: layer.name for name, layer in outputs.items()},
        )

    def _activated(self, conv: StackedConv2d, pooled: bool) -> tuple[int, int, int]:
        """What the activation behind a convolution is given, (C, H, W)."""
        channels, rows, columns = conv.produced
        first = not pooled or self.order == "activation_pool"
        return conv.produced if first else (channels, rows // 2, columns // 2)

    def _passed_on(self, conv: StackedConv2d, pooled: bool, expansion: Fraction | float) -> tuple[int, int, int]:
        """What the next layer receives, (C, H, W).  Raises ConfigError where nothing would be left."""
        channels, rows, columns = conv.produced
        parts = 2 if pooled else 1
        if min(rows, columns) < parts:
            received = f"({conv.image[1]} × {conv.image[2]} pixels)"
            if "kernel" not in component.parameters(type(self)):
                raise ConfigError(
                    f"network={self.called}: the kernel of {conv.name}, {conv.kernel} × {conv.kernel}, is too large "
                    f"for what it receives {received}; choose network.padding=same, or a smaller network."
                )
            raise ConfigError(
                f"network.kernel is {conv.kernel}, too large for what {conv.name} receives {received}; "
                "choose a smaller one, or network.padding=same."
            )
        return int(channels * expansion), rows // parts, columns // parts


def checked(channels: int, kernel: int, width: int) -> tuple[int, int, int]:
    """The settings of networks whose convolutions are all alike.  Raises ConfigError."""
    return (
        check("network.channels", channels, at_least=1),
        check("network.kernel", kernel, at_least=1),
        check("network.width", width, at_least=1),
    )
