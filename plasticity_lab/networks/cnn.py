"""The convolutional network of the continual supervised benchmarks.

Legend: K runs, B examples, C channels, H, W rows and columns, O numbers of an output.
"""

from collections.abc import Mapping
from math import prod

from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.network import Activate, Design, Network, Shapes, Unit, only_body, output_layers
from plasticity_lab.networks.width import trim, trimmed
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.pool import max_pooled

ORDERS = ("activation_pool", "pool_activation")


class CNN(Network):
    """Two convolutions with 2 × 2 max pooling, two hidden layers, a linear layer for each output.  Source: Appendix B.

    The paper says 5 × 5 and 16 channels, then 2 × 100. It leaves open `padding` (valid | same: zeros around, images
    keep their size) and `order` (activation_pool | pool_activation: which comes first); valid and activation_pool are
    Kumar et al. 2023's, whose network it is. `init`: default (PyTorch's) or kaiming (with the activation's gain).
    """

    def __init__(
        self,
        channels: int = 16,
        kernel: int = 5,
        width: int = 100,
        padding: str = "valid",
        order: str = "activation_pool",
        init: str = "default",
    ) -> None:
        self.channels = check("network.channels", channels, at_least=1)
        self.kernel = check("network.kernel", kernel, at_least=1)
        self.width = check("network.width", width, at_least=1)
        self.padding = check("network.padding", padding, one_of=("valid", "same"))
        self.order = check("network.order", order, one_of=ORDERS)
        self.init = check("network.init", init, one_of=("default", "kaiming"))
        if padding == "same" and kernel % 2 == 0:
            raise ConfigError(f"network.kernel is {kernel}; with network.padding=same it must be odd.")

    def design(self, bodies: Mapping[str, Shapes], activation: Activation) -> Design:
        """conv1 → conv2 → hidden1 → hidden2 → a layer for each output.

        Raises ConfigError for images that are too small, and for what is no image.
        """
        shapes = only_body(bodies, "cnn")
        if len(shapes.inputs) != 3:
            raise ConfigError(
                f"network=cnn takes images, and what is given here has the shape {shapes.inputs}; network=mlp takes it."
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
        conv1, conv2, hidden1, hidden2, *outputs = design.layers
        x = x_KBD.unflatten(2, conv1.image)
        for site, conv in enumerate((conv1, conv2)):
            x = conv(parameters, x)
            if self.order == "activation_pool":
                x = max_pooled(activate(site, x))
            else:
                x = activate(site, max_pooled(x))
        h = x.flatten(2)
        for site, hidden in enumerate((hidden1, hidden2), start=2):
            h = activate(site, hidden(parameters, h))
        return {name: layer(parameters, h) for name, layer in zip(design.outputs, outputs, strict=True)}

    def _of_widths(self, shapes: Shapes, channels: int, width: int, expansion: float) -> Design:
        """The design whose layers produce so many channels and units, of which expansion times as many go on."""
        conv1 = StackedConv2d("conv1", shapes.inputs, channels, self.kernel, self.padding)
        conv2 = StackedConv2d("conv2", self._passed_on(conv1, expansion), channels, self.kernel, self.padding)
        flat, passed = prod(self._passed_on(conv2, expansion)), int(width * expansion)
        hidden1, hidden2 = StackedLinear("hidden1", flat, width), StackedLinear("hidden2", passed, width)
        outputs = output_layers(shapes, passed)
        last = tuple(outputs[name].name for name in shapes.outputs)
        units = [
            Unit("conv1", self._activated(conv1), incoming="conv1", outgoing=("conv2",), kind="channel"),
            Unit("conv2", self._activated(conv2), incoming="conv2", outgoing=("hidden1",), kind="channel"),
            Unit("hidden1", (width,), incoming="hidden1", outgoing=("hidden2",)),
            Unit("hidden2", (width,), incoming="hidden2", outgoing=last),
        ]
        answers = {name: layer.name for name, layer in outputs.items()}
        return Design([conv1, conv2, hidden1, hidden2, *outputs.values()], units, answers)

    def _activated(self, conv: StackedConv2d) -> tuple[int, int, int]:
        """What the activation behind a convolution is given, (C, H, W)."""
        channels, rows, columns = conv.produced
        return conv.produced if self.order == "activation_pool" else (channels, rows // 2, columns // 2)

    def _passed_on(self, conv: StackedConv2d, expansion: float) -> tuple[int, int, int]:
        """What the next layer receives, (C, H, W).  Raises ConfigError where nothing would be left."""
        channels, rows, columns = conv.produced
        if min(rows, columns) < 2:
            raise ConfigError(
                f"network.kernel is {self.kernel}, too large for what {conv.name} receives "
                f"({conv.image[1]} × {conv.image[2]} pixels); choose a smaller one, or network.padding=same."
            )
        return int(channels * expansion), rows // 2, columns // 2
