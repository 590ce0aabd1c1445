"""The vision transformer for small labelled images.

Legend: K runs, B examples, C channels, H, W rows and columns, N tokens, D numbers of each, R rows, B · N.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import count

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.kernels.through import ThroughKernels
from plasticity_lab.networks.attention import attended
from plasticity_lab.networks.encoder import Encoder, Maps
from plasticity_lab.networks.network import NORMS, WITHOUT_GAIN, Activate, Layer, Unit
from plasticity_lab.stacking.attended import StackedAttended
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.identity import StackedIdentity
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.tokens import StackedTokens

HIDDEN = 4
"""Units of a block's hidden layer, as a multiple of the width."""


class ViT(Encoder):
    """Patches → tokens with positions, behind a class token → blocks → the class token, normalised, and the outputs.

    A block adds to the tokens (`norm`, attention, a linear map of the heads together), then (`norm`, a hidden layer of
    4 · width units, activation, a linear map). patch: rows and columns of a patch. width: numbers of a token. depth:
    number of blocks. heads: number of heads in a block. norm: one of NORMS, over the numbers of a token. Layers are
    called patches, tokens, block1.norm1, .query, .key, .value, .attended, .norm2, .hidden, .output, …, norm; the
    units are block1.hidden, ….

    Source: Dosovitskiy et al. 2021; the defaults are the tiny network of Touvron et al. 2021 for 32 × 32 pixels, as in
    Lee et al. 2024. No dropout.
    """

    called = "vit"
    outputs_read_units = False
    compares = (".query", ".key")

    def __init__(
        self,
        patch: int = 4,
        width: int = 192,
        depth: int = 12,
        heads: int = 3,
        init: str = "default",
        norm: str = "layer",
    ) -> None:
        self.patch = check("network.patch", patch, at_least=1)
        self.width = check("network.width", width, at_least=1)
        self.heads = check("network.heads", heads, at_least=1)
        if width % heads:
            raise ConfigError(f"network.width={width} is not a multiple of network.heads={heads}; choose other ones.")
        self.widths = [HIDDEN * width] * check("network.depth", depth, at_least=1)
        self.hidden = {}
        self.init = check("network.init", init, one_of=WITHOUT_GAIN)
        self.norm = check("network.norm", norm, one_of=NORMS)

    @property
    def rows_are_examples(self) -> bool:
        """No: they are tokens."""
        return False

    @property
    def normed_throughout(self) -> bool:
        """No: the normalisation is before a hidden layer, and the activation behind it."""
        return False

    def maps(self, image: tuple[int, int, int], channels: Sequence[int], expansion: Fraction | float) -> Maps:
        """The layers of all blocks.  Raises ConfigError if patches do not fill the image.

        channels: the units of each block's hidden layer.
        """
        if any(side % self.patch for side in image[1:]):
            raise ConfigError(
                f"network.patch={self.patch} does not divide the image's sides, {image[1]} × {image[2]} pixels; choose "
                "one that does."
            )
        patches = StackedConv2d("patches", image, self.width, self.patch, "valid", self.patch)
        tokens = 1 + patches.produced[1] * patches.produced[2]
        layers: list[Layer] = [patches, StackedTokens("tokens", tokens, self.width)]
        units: list[Unit] = []

        def linear(name: str, inputs: int, outputs: int) -> StackedLinear:
            return StackedLinear(name, inputs, outputs, positions=tokens)

        for number, hidden in enumerate(channels, start=1):
            block = f"block{number}."
            layers.append(self.normed(StackedIdentity(f"{block}norm1", self.width, tokens)))
            layers += [linear(block + name, self.width, self.width) for name in ("query", "key", "value")]
            layers.append(StackedAttended(f"{block}attended", self.width, self.width, tokens))
            layers.append(self.normed(StackedIdentity(f"{block}norm2", self.width, tokens)))
            layers.append(linear(f"{block}hidden", self.width, hidden))
            layers.append(linear(f"{block}output", int(hidden * expansion), self.width))
            produced = hidden, tokens, 1
            units.append(Unit(f"{block}hidden", produced, f"{block}hidden", (f"{block}output",), kind="channel"))
        layers.append(self.normed(StackedIdentity("norm", self.width)))
        return Maps(layers, units, (self.width, 1, 1), ends_with_units=False)

    def encoded(
        self, layers: Sequence[Layer], parameters: Mapping[str, Tensor], x_KBCHW: Tensor, activate: Activate
    ) -> Tensor:
        """Images → the class token behind the last block, normalised, (K, B, D, 1, 1)."""
        following, sites = iter(layers), count()

        def step(x: Tensor) -> Tensor:
            return next(following)(parameters, x)

        tokens_KBND = step(step(x_KBCHW).flatten(3).transpose(2, 3))
        examples, tokens = tokens_KBND.shape[1:3]
        x_KRD = tokens_KBND.flatten(1, 2)
        for _ in self.widths:
            h_KRD = step(x_KRD)
            queries, keys, values = (step(h_KRD) for _ in range(3))
            x_KRD = x_KRD + step(attended(parameters, queries, keys, values, tokens, self.heads))
            h = step(step(x_KRD))
            if isinstance(parameters, ThroughKernels):  # in the layout of the products, backward too
                h = activate(next(sites), h)
            else:
                h = activate(next(sites), h.unflatten(1, (examples, tokens)).transpose(2, 3).unsqueeze(4))
                h = h.flatten(3).transpose(2, 3).flatten(1, 2)
            x_KRD = x_KRD + step(h)
        return step(x_KRD.unflatten(1, (examples, tokens))[:, :, 0])[..., None, None]
