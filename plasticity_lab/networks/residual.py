"""What the residual networks have in common: stacks of a convolution, pooling and residual blocks, then a hidden layer.

Legend: K runs, B examples, C channels, H, W rows and columns, O numbers of an output.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import ClassVar

from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.network import (
    NORMS,
    Activate,
    Design,
    Layer,
    Network,
    Shapes,
    Unit,
    only_body,
    output_layers,
)
from plasticity_lab.networks.width import trim, trimmed
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.pool import max_pooled

BLOCKS = 2
"""Residual blocks of a stack."""
INITS = ("default", "kaiming", "lecun", "xavier")


class Residual(Network):
    """Stacks, then the activation, a hidden layer, and a dense layer for each output.

    A stack is a convolution 3 × 3, max pooling 3 × 3 in steps of 2 where it is pooled, and two blocks: activation,
    convolution, activation, convolution, added to what the block was given. Convolutions and pooling keep the image's
    size but for the step (SAME). Final classes say which stacks there are. channels: of each. pooled: whether they are.

    Layers and units are called stack1.conv, stack1.block1.conv1, …, hidden. What the activation is given at a block's
    entrance, stack1.block1.stream, is a sum of several layers' outputs: units there cannot be reset.

    `init`: xavier is Dopamine's, whose blocks are lecun_normal; all others are for every layer alike, and all but
    kaiming do without the activation's gain. `norm`: none, or layer: behind each convolution that is not the last of a
    block, and behind the hidden layer. Source: Espeholt et al. 2018, figure 3.
    """

    called: ClassVar[str]
    """Its name in conf/network, for messages."""

    def __init__(self, channels: Sequence[int], pooled: bool, hidden: int, init: str, norm: str) -> None:
        self.channels, self.pooled = tuple(channels), pooled
        self.hidden = check("network.hidden", hidden, at_least=1)
        self.init = check("network.init", init, one_of=INITS)
        self.norm = check("network.norm", norm, one_of=NORMS)

    def init_of(self, layer: str) -> str:
        """As Dopamine's code has it: flax's default for the convolutions of blocks, xavier for all else."""
        return "lecun_normal" if self.init == "xavier" and ".block" in layer else self.init

    def design(self, bodies: Mapping[str, Shapes], activation: Activation) -> Design:
        """The stacks' layers, hidden, a layer for each output.  Raises ConfigError for what is no image."""
        shapes = only_body(bodies, self.called)
        if len(shapes.inputs) != 3:
            raise ConfigError(
                f"network={self.called} takes images, and what is given here has the shape {shapes.inputs}; "
                "network=mlp takes it."
            )
        widths = [*self.channels, self.hidden]

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
        layers = iter(design.layers)
        site = 0

        def activated(h: Tensor) -> Tensor:
            nonlocal site
            site += 1
            return activate(site - 1, h)

        x = x_KBD.unflatten(2, design.layers[0].image)
        for _ in self.channels:
            x = next(layers)(parameters, x)
            if self.pooled:
                x = max_pooled(x, 3, 2, "same")
            for _ in range(BLOCKS):
                h = next(layers)(parameters, activated(x))
                x = x + next(layers)(parameters, activated(h))
        h = activated(next(layers)(parameters, activated(x).flatten(2)))
        return {name: layer(parameters, h) for name, layer in zip(design.outputs, layers, strict=True)}

    def _of_widths(self, shapes: Shapes, widths: Sequence[int], expansion: Fraction | int) -> Design:
        """Layers that give as many channels or units as `widths` say; each passes on expansion × as many."""
        channels, rows, columns = shapes.inputs
        layers: list[Layer] = []
        units: list[Unit] = []
        for number, width in enumerate(widths[:-1], start=1):
            stack = f"stack{number}"
            conv = StackedConv2d(f"{stack}.conv", (channels, rows, columns), width, 3, "same")
            layers.append(self.normed(conv))
            if self.pooled:
                rows, columns = -(-rows // 2), -(-columns // 2)
            passed = (int(width * expansion), rows, columns)
            for block in (f"{stack}.block{n + 1}" for n in range(BLOCKS)):
                first, second = (StackedConv2d(f"{block}.conv{n}", passed, width, 3, "same") for n in (1, 2))
                layers += [self.normed(first), second]
                units.append(self._stream(f"{block}.stream", conv.name, first.name, (width, rows, columns)))
                units.append(Unit(first.name, (width, rows, columns), first.name, (second.name,), kind="channel"))
            channels = width
        last = layers[-1].name
        units.append(self._stream("stream", last, "hidden", (channels, rows, columns)))
        hidden = shapes.dense("hidden", prod((int(channels * expansion), rows, columns)), widths[-1])
        outputs = output_layers(shapes, int(widths[-1] * expansion))
        following = tuple(outputs[name].name for name in shapes.outputs)
        units.append(Unit("hidden", (widths[-1],), "hidden", following))
        answers = {name: layer.name for name, layer in outputs.items()}
        return Design([*layers, self.normed(hidden), *outputs.values()], units, answers)

    @staticmethod
    def _stream(name: str, incoming: str, outgoing: str, produced: tuple[int, int, int]) -> Unit:
        return Unit(name, produced, incoming, (outgoing,), kind="channel", is_sum=True)
