"""What the convolutional networks have in common: convolutions with pooling behind some, then hidden layers.

Legend: K runs, B examples, C channels, H, W rows and columns, O numbers of an output.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar

from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.network import NORMS, Activate, Design, Network, Shapes, Unit, only_body, output_layers
from plasticity_lab.networks.width import trim, trimmed
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.pool import max_pooled

ORDERS = ("activation_pool", "pool_activation")


class Convolutional(Network):
    """Convolutions, 2 × 2 max pooling behind some of them, hidden layers, a linear layer for each output.

    Final classes say how many there are (`pooled`, `hidden`) and where their settings come from. `padding`: valid, or
    same (zeros around, images keep their size). `order`, where there is pooling: activation_pool | pool_activation,
    which comes first. `init`: default (PyTorch's) or kaiming (with the activation's gain). `norm`: none, or layer,
    before each activation.
    """

    called: ClassVar[str]
    """Its name in conf/network, for messages."""

    pooled: ClassVar[Sequence[bool]]
    """For each convolution, whether its images are pooled."""

    hidden: ClassVar[int]
    """How many hidden layers follow."""

    def __init__(
        self, channels: int, kernel: int, width: int, padding: str, order: str, init: str, norm: str = "none"
    ) -> None:
        self.channels = check("network.channels", channels, at_least=1)
        self.kernel = check("network.kernel", kernel, at_least=1)
        self.width = check("network.width", width, at_least=1)
        self.padding = check("network.padding", padding, one_of=("valid", "same"))
        self.order = check("network.order", order, one_of=ORDERS)
        self.init = check("network.init", init, one_of=("default", "kaiming"))
        self.norm = check("network.norm", norm, one_of=NORMS)
        if padding == "same" and kernel % 2 == 0:
            raise ConfigError(f"network.kernel is {kernel}; with network.padding=same it must be odd.")

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

        def adapted(percent: int = 0) -> Design:
            channels, width = (
                activation.produced(trimmed(features, percent)) for features in (self.channels, self.width)
            )
            return self._of_widths(shapes, channels, width, activation.expansion)

        if activation.matches_parameters:
            plain = self._of_widths(shapes, self.channels, self.width, 1)
            return adapted(trim(plain.size, lambda percent: adapted(percent).size))
        return adapted()

    def forward(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """Pixels, channel by channel (K, B, C·H·W) → the outputs, name → (K, B, O)."""
        convolutions = design.layers[: len(self.pooled)]
        hidden, outputs = design.layers[len(self.pooled) :][: self.hidden], design.layers[-len(design.outputs) :]
        x = x_KBD.unflatten(2, convolutions[0].image)
        for site, (conv, pooled) in enumerate(zip(convolutions, self.pooled, strict=True)):
            x = conv(parameters, x)
            if not pooled:
                x = activate(site, x)
            elif self.order == "activation_pool":
                x = max_pooled(activate(site, x))
            else:
                x = activate(site, max_pooled(x))
        h = x.flatten(2)
        for site, layer in enumerate(hidden, start=len(self.pooled)):
            h = activate(site, layer(parameters, h))
        return {name: layer(parameters, h) for name, layer in zip(design.outputs, outputs, strict=True)}

    def _of_widths(self, shapes: Shapes, channels: int, width: int, expansion: float) -> Design:
        """The design whose layers produce so many channels and units, of which expansion times as many go on."""
        image, layers, units = shapes.inputs, [], []
        for number, pooled in enumerate(self.pooled, start=1):
            conv = StackedConv2d(f"conv{number}", image, channels, self.kernel, self.padding)
            image = self._passed_on(conv, pooled, expansion)
            layers.append(self.normed(conv))
            units.append((conv.name, self._activated(conv, pooled)))
        passed = int(width * expansion)
        for number, inputs in enumerate([prod(image), *[passed] * (self.hidden - 1)], start=1):
            layers.append(self.normed(StackedLinear(f"hidden{number}", inputs, width)))
            units.append((f"hidden{number}", (width,)))
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

    def _passed_on(self, conv: StackedConv2d, pooled: bool, expansion: float) -> tuple[int, int, int]:
        """What the next layer receives, (C, H, W).  Raises ConfigError where nothing would be left."""
        channels, rows, columns = conv.produced
        parts = 2 if pooled else 1
        if min(rows, columns) < parts:
            raise ConfigError(
                f"network.kernel is {self.kernel}, too large for what {conv.name} receives "
                f"({conv.image[1]} × {conv.image[2]} pixels); choose a smaller one, or network.padding=same."
            )
        return int(channels * expansion), rows // parts, columns // parts
