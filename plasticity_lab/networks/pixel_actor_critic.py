"""Actor and critics on images: shared convolutions, with separate projections and hidden layers behind them.

Legend: K runs, B examples, C channels, H, W rows and columns, A numbers of an action, O numbers of an output.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Self, cast

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.convolutional import Convolution, Convolutional
from plasticity_lab.networks.heads.dense import Flatten
from plasticity_lab.networks.heads.head import Head
from plasticity_lab.networks.heads.tokenised import Tokenised
from plasticity_lab.networks.network import Activate, Design, Layer, Shapes, Unit
from plasticity_lab.networks.tokenization import PER_LEARNED_PATCH, Tokens
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.elementary import tanh
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.normed import StackedNormed
from plasticity_lab.stacking.token_sum import StackedTokenSum

STRIDES = (2, 1, 1, 1)
CRITICS, ACTOR = ("critic1", "critic2"), "actor"
OF_CRITICS, OF_ACTOR = ("q1", "q2"), ("mean", "log_std")
"""The names of their outputs."""


class PixelActorCritic(Convolutional):
    """Four convolutions of 3 × 3, the first with stride 2; a projection for the critics and one for the actor.

    A projection is a dense layer, layer normalisation and tanh. Behind them each critic and the actor have a hidden
    layer. An example is an image, with or without an action after its pixels. With an action both critics answer, "q1"
    and "q2"; without, only the actor, "mean" and "log_std". No gradient flows from the actor into the convolutions:
    only the critics train them. Source: Yarats et al. 2021, in the form of Dopamine's SACEncoderNetwork
    (labs/sac_from_pixels), which its labs/cale uses. Padding is same, so 84 × 84 pixels become 42 × 42 × 32 numbers.
    The weights of convolutions and projections are orthogonal, the others xavier, biases zero. The projections' tanh is
    not the run's activation.

    channels: of each convolution. projection: numbers of each projection. hidden: units of the hidden layers. norm:
    none, or layer, before each activation; the projections have a normalisation in any case. tokens, patch: see
    `Tokens`. head: flatten (each projection receives the whole map), or tokenised with pooled=sum: the dense layer is
    applied to every token, and the sum over tokens is normalised (Figure 22 of Sokar et al. 2025).
    """

    called = "pixel_actor_critic"
    neutral = {**Convolutional.neutral, "tokens": "per_conv", "patch": 3}
    inits = ("xavier",)

    def __init__(
        self,
        channels: int = 32,
        projection: int = 50,
        hidden: int = 512,
        norm: str = "none",
        tokens: str = "per_conv",
        patch: int = 3,
    ) -> None:
        channels = check("network.channels", channels, at_least=1)
        self.projection = check("network.projection", projection, at_least=1)
        hidden = check("network.hidden", hidden, at_least=1)
        if tokens == PER_LEARNED_PATCH:
            raise ConfigError(
                f"network=pixel_actor_critic has no network.tokens={PER_LEARNED_PATCH}; choose per_patch, or another."
            )
        convolutions = [Convolution(channels, 3, stride) for stride in STRIDES]
        super().__init__(convolutions, [hidden], "same", "xavier", norm, tokens=Tokens(tokens, patch))

    def headed(self, head: Head) -> Self:
        """The same network with that head.  Raises ConfigError unless it is flatten, or tokenised with a plain sum."""
        if not isinstance(head, Flatten) and not (isinstance(head, Tokenised) and head.plain_sum):
            raise ConfigError(
                "network=pixel_actor_critic has no such head: its projections take the whole feature map, "
                "head=flatten, or the sum over tokens, head=tokenised with head.pooled=sum and head.scale=1."
            )
        return super().headed(head)

    def init_of(self, layer: str) -> str:
        """Orthogonal for convolutions and projections, xavier for all others."""
        return "orthogonal" if layer.startswith("conv") or layer.endswith(".projection") else self.init

    def forward(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """Pixels, channel by channel, with or without an action after them → the outputs, name → (K, B, O)."""
        layers = {layer.name.removeprefix(design.prefix): layer for layer in design.layers}
        _, sites = design.encoded
        image = cast(StackedConv2d, design.layers[0]).image
        pixels = prod(image)
        given, action = x_KBD[..., :pixels], x_KBD[..., pixels:]
        maps = self.mapped(design, parameters, given, activate)

        def behind(name: str, site: int, z: Tensor, outputs: Sequence[str]) -> list[Tensor]:
            h = activate(sites + site, layers[f"{name}.hidden1"](parameters, z))
            return [layers[f"{name}.{output}"](parameters, h) for output in outputs]

        def projected(name: str, maps: Tensor) -> Tensor:
            taken = self.tokens.of(maps) if self.head.takes_tokens else maps.flatten(2)
            return tanh(layers[f"{name}.projection"](parameters, taken))

        answers: dict[str, Tensor] = {}
        if action.shape[2]:
            there = torch.cat([projected("critic", maps), action], dim=2)
            for site, (name, output) in enumerate(zip(CRITICS, OF_CRITICS, strict=True)):
                (answers[output],) = behind(name, site, there, ("q",))
        own = behind(ACTOR, len(CRITICS), projected(ACTOR, maps.detach()), OF_ACTOR)
        return answers | dict(zip(OF_ACTOR, own, strict=True))

    def _of_widths(
        self, shapes: Shapes, channels: Sequence[int], hidden: Mapping[str, int], expansion: Fraction | float
    ) -> Design:
        """The convolutions, then projection and layers of the critics, then projection and layers of the actor."""
        if set(shapes.outputs) != {*OF_CRITICS, *OF_ACTOR}:
            raise ConfigError(
                f"network=pixel_actor_critic has an actor and critics, for agent=sac on images; the outputs required "
                f"here are {', '.join(shapes.outputs)}. Choose another network, such as network=nature."
            )
        planes, rows, columns = shapes.inputs
        encoder = self.maps((planes, rows, columns), channels, expansion)
        tokens = self._tokens(encoder.passed)
        layers: list[Layer] = [*encoder.layers]
        units, outputs, projections = [*encoder.units], dict[str, str](), []
        width = hidden["hidden1"]
        for part, heads in (("critic", CRITICS), (ACTOR, (ACTOR,))):
            projections.append(f"{part}.projection")
            layers.append(self._projection(projections[-1], encoder.passed, tokens))
            given = self.projection + (0 if part == ACTOR else shapes.beside)
            for head in heads:
                answered = OF_ACTOR if part == ACTOR else ("q",)
                own = {f"{head}.{name}": name for name in answered}
                layers.append(self.normed(StackedLinear(f"{head}.hidden1", given, width)))
                units.append(Unit(f"{head}.hidden1", (width,), f"{head}.hidden1", tuple(own)))
                for layer, name in own.items():
                    name = name if part == ACTOR else OF_CRITICS[CRITICS.index(head)]
                    outputs[name] = layer
                    layers.append(StackedLinear(layer, int(width * expansion), shapes.outputs[name]))
        by_channel = not self.head.takes_tokens or self.tokens.by_channel
        last = encoder.units[-1]
        # If tokens are no places, no rows belong to one channel, so no channel can be cut off.
        units[len(encoder.units) - 1] = replace(
            last, outgoing=tuple(projections) if by_channel else (), is_sum=not by_channel
        )
        return Design(layers, units, outputs, encoded=(len(encoder.layers), len(encoder.units)))

    def _projection(self, name: str, maps: tuple[int, int, int], tokens: tuple[int, int]) -> StackedNormed:
        """The dense layer with its normalisation."""
        if self.head.takes_tokens:
            return StackedNormed(name, StackedTokenSum(name, *tokens, self.projection))
        return StackedNormed(name, StackedLinear(name, prod(maps), self.projection))
