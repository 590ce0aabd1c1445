"""The base class of networks for images: layers that make a feature map, and a head behind it.

Legend: K runs, B examples, C channels, H, W rows and columns, O numbers of an output.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self, cast

from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.activations.activation import Activation
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.building import fitted, narrower, only_body
from plasticity_lab.networks.halves import InHalves
from plasticity_lab.networks.heads.dense import Flatten
from plasticity_lab.networks.heads.head import Encoded, Head
from plasticity_lab.networks.network import Activate, Design, Layer, Network, Shapes, Unit
from plasticity_lab.networks.tokenization import PER_LEARNED_PATCH, Tokens
from plasticity_lab.others import Others
from plasticity_lab.stacking.conv import StackedConv2d


@dataclass(frozen=True)
class Maps:
    """The layers and units of an encoder, and the shape (C, H, W) of its feature map.

    ends_with_units: whether the last unit makes the feature map. Then its `outgoing` is empty: the layers that follow
    it belong to the head.
    """

    layers: Sequence[Layer]
    units: Sequence[Unit]
    passed: tuple[int, int, int]
    ends_with_units: bool = True


class Encoder(InHalves):
    """A network of images. Final classes define the layers of the feature map; `head` follows them.

    widths: channels of the layers of the feature map, before the activation changes their number. hidden: name → units
    of the hidden layers that a head may have. norm: see `Network`.
    """

    called: ClassVar[str]
    """Its name in conf/network, for messages."""

    outputs_read_units: ClassVar[bool] = True
    """Whether the last layers receive values of an activation."""

    head: Head = Flatten()
    tokens: Tokens = Tokens()
    widths: Sequence[int]
    hidden: Mapping[str, int]

    def maps(self, image: tuple[int, int, int], channels: Sequence[int], expansion: Fraction | float) -> Maps:
        """The layers that produce those channels of an image (C, H, W).  Raises ConfigError.

        expansion: the number of values that the activation passes on for each.
        """
        raise NotImplementedError

    def encoded(
        self, layers: Sequence[Layer], parameters: Mapping[str, Tensor], x_KBCHW: Tensor, activate: Activate
    ) -> Tensor:
        """Images → the feature map, (K, B, C, H, W).  layers: the layers of `maps`."""
        raise NotImplementedError

    @property
    def rows_are_examples(self) -> bool:
        """Whether the head takes no tokens."""
        return not self.head.takes_tokens

    def headed(self, head: Head) -> Self:
        """The same encoder with that head."""
        other = copy(self)
        other.head = head
        return other

    def design(self, bodies: Mapping[str, Shapes], activation: Activation) -> Design:
        """The encoder's layers, then the head's.

        Raises ConfigError for images that are too small, and for inputs that are no images.
        """
        shapes = only_body(bodies, self.called)
        if len(shapes.inputs) != 3:
            raise ConfigError(
                f"network={self.called} takes images, and the inputs here have the shape {shapes.inputs}; "
                "choose network=mlp."
            )

        def trimmed(percent: int) -> Design:
            def produced(width: int) -> int:
                return activation.produced(narrower(width, percent))

            hidden = {name: produced(width) for name, width in self.hidden.items()}
            return self._of_widths(shapes, list(map(produced, self.widths)), hidden, activation.expansion)

        return fitted(activation, lambda: self._of_widths(shapes, self.widths, self.hidden, 1), trimmed)

    def head_inputs(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> Tensor:
        """Pixels, channel by channel (K, B, C·H·W) → the feature map, or its tokens if the head takes tokens."""
        layers, _ = design.encoded
        maps = self.mapped(design, parameters, x_KBD, activate)
        if not self.head.takes_tokens:
            return maps
        if self._learned_patches:
            maps = design.layers[layers](parameters, maps)
        return self.tokens.of(maps)

    def head_outputs(
        self, design: Design, parameters: Mapping[str, Tensor], features: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """Feature map or tokens → the outputs, name → (K, B, O), and the losses of the head."""
        sites = design.encoded[1]
        first, outputs = self._first_of_head(design), len(design.outputs)
        behind, last = design.layers[first:-outputs], design.layers[-outputs:]
        h, losses = self.head.forward(behind, parameters, features, lambda site, h: activate(sites + site, h))
        return {name: layer(parameters, h) for name, layer in zip(design.outputs, last, strict=True)} | losses

    def head_names(self, design: Design) -> list[str]:
        """All layers behind the feature map."""
        return [layer.name for layer in design.layers[self._first_of_head(design) :]]

    @property
    def _learned_patches(self) -> bool:
        return self.head.takes_tokens and self.tokens.kind == PER_LEARNED_PATCH

    def _first_of_head(self, design: Design) -> int:
        """The position of the first layer of the head."""
        return design.encoded[0] + self._learned_patches

    def mapped(self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate) -> Tensor:
        """Pixels (K, B, C·H·W) → the feature map. If the design asks for more rows, zeros are appended."""
        layers, _ = design.encoded
        x = x_KBD.unflatten(2, cast(StackedConv2d, design.layers[0]).image)
        maps = self.encoded(design.layers[:layers], parameters, x, activate)
        missing = design.rows - maps.shape[1]
        return pad(maps, (0, 0) * 3 + (0, missing)) if missing > 0 else maps

    def _of_widths(
        self, shapes: Shapes, channels: Sequence[int], hidden: Mapping[str, int], expansion: Fraction | float
    ) -> Design:
        """The design with layers that produce those channels and units."""
        planes, rows, columns = shapes.inputs
        encoder = self.maps((planes, rows, columns), channels, expansion)
        tokens = self._tokens(encoder.passed)
        head = self.head.design(Encoded(encoder.passed, shapes, hidden, expansion, self.normed, tokens))
        patches = self.tokens.layer(encoder.passed) if self.head.takes_tokens else None
        receiving = head.receiving if patches is None else (patches.name,)
        *units, last = encoder.units
        if self.head.takes_tokens and not self.tokens.by_channel:  # no rows are a channel's: none can be cut off
            last, receiving = replace(last, is_sum=True), ()
        if encoder.ends_with_units:
            last = replace(last, outgoing=receiving)
        return Design(
            [*encoder.layers, *([] if patches is None else [patches]), *head.layers],
            [*units, last, *head.units],
            head.outputs,
            losses=head.losses,
            encoded=(len(encoder.layers), len(encoder.units)),
        )

    def _tokens(self, maps: tuple[int, int, int]) -> tuple[int, int]:
        """(M, D).  Raises ConfigError if tokens are set for a head without tokens, or a patch for tokens without
        patches.
        """
        if not self.head.takes_tokens and self.tokens.kind != "per_conv":
            raise ConfigError(
                f"network.tokens={self.tokens.kind} says how a feature map becomes tokens, and this head takes none; "
                "choose network.tokens=per_conv, or a head that takes tokens: softmoe, expert_choice, token_choice, "
                "tokenised."
            )
        usual = self.neutral.get("patch", self.tokens.patch)
        if self.tokens.patch != usual and not self.tokens.of_patches:
            raise ConfigError(
                f"network.patch={self.tokens.patch} is a patch's side, and with network.tokens={self.tokens.kind} "
                "there are no patches; choose network.tokens=per_patch or per_learned_patch, or leave network.patch "
                "out."
            )
        if self.head.takes_tokens and len(self.hidden) != 1:
            raise ConfigError(
                f"There are {len(self.hidden)} hidden layers, and this head has a mixture of experts, or one layer for "
                "all tokens, in the place of one; choose network.layers=1, with head.further_layer=true if the head "
                "has experts, or a network with one hidden layer."
            )
        return self.tokens.shape(maps) if self.head.takes_tokens else (0, 0)


def lacking_features(others: Others) -> str | None:
    """The reason why an intervention on the last activations does not go with a run's network; None if it does."""
    network = others.one("network", Network) if "network" in others else None
    if not isinstance(network, Encoder) or network.outputs_read_units:
        return None
    return "it works on the activations that the output layers read, and here they read a normalised sum of many layers"


def headed(network: Network, head: Head) -> Network:
    """A network with that head.  Raises ConfigError for a network without a feature map, unless the head is flatten."""
    if isinstance(network, Encoder):
        return network.headed(head)
    if isinstance(head, Flatten):
        return network
    raise ConfigError(
        f"The network {type(network).__name__} makes no feature map for a head; choose "
        "head=flatten, or a network of images, such as network=nature or network=small_impala."
    )
