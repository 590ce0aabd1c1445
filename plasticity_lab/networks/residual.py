"""The base class of residual networks: stacks of a convolution, pooling and residual blocks, then a head.

Legend: K runs, B examples, C channels, H, W rows and columns, O numbers of an output.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import count

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.kernels.through import ThroughKernels
from plasticity_lab.networks.encoder import Encoder, Maps
from plasticity_lab.networks.network import NORMS, Activate, Layer, Unit
from plasticity_lab.networks.tokenization import Tokens
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.pool import max_pooled

BLOCKS = 2
"""Residual blocks of a stack."""
INITS = ("default", "kaiming", "lecun", "xavier", "variance_scaling")


class Residual(Encoder):
    """Stacks, then the activation and a head: a hidden layer, and a dense layer for each output.

    A stack is a convolution 3 × 3, max pooling 3 × 3 with stride 2 if it is pooled, and two residual blocks:
    activation, convolution, activation, convolution, added to the block's input. Padding is SAME, so only strides
    change the image's size. Final classes define the stacks. channels: of each stack. pooled: whether they have
    pooling. Layers and units are called stack1.conv, stack1.block1.conv1, …, hidden. The activation's input at the
    start of a block, stack1.block1.stream, is a sum of several layers' outputs, so its units cannot be reset.
    `init`: xavier as in Dopamine, which uses lecun_normal in the blocks; all others apply to every layer. Only kaiming
    uses the activation's gain. `norm`: none, or layer: behind each convolution that is not the last of a block, and
    behind the hidden layer. Source: Espeholt et al. 2018, figure 3.
    """

    def __init__(
        self,
        channels: Sequence[int],
        pooled: bool,
        hidden: int,
        layers: int,
        init: str,
        norm: str,
        tokens: Tokens,
    ) -> None:
        self.tokens = tokens
        self.widths, self.pooled = tuple(channels), pooled
        check("network.hidden", hidden, at_least=1)
        count_of_layers = check("network.layers", layers, at_least=1)
        self.hidden = {"hidden" if n == 1 else f"hidden{n}": hidden for n in range(1, count_of_layers + 1)}
        self.init = check("network.init", init, one_of=INITS)
        self.norm = check("network.norm", norm, one_of=NORMS)

    @property
    def normed_throughout(self) -> bool:
        """No: the sums behind blocks are not normalised."""
        return False

    def init_of(self, layer: str) -> str:
        """As in Dopamine's code: flax's default for the convolutions of blocks, xavier for all other layers."""
        return "lecun_normal" if self.init == "xavier" and ".block" in layer else self.init

    def maps(self, image: tuple[int, int, int], channels: Sequence[int], expansion: Fraction | float) -> Maps:
        """Stack after stack, and the activation behind the last sum."""
        given, rows, columns = image
        layers: list[Layer] = []
        units: list[Unit] = []
        for number, width in enumerate(channels, start=1):
            stack = f"stack{number}"
            conv = StackedConv2d(f"{stack}.conv", (given, rows, columns), width, 3, "same")
            layers.append(self.normed(conv))
            if self.pooled:
                rows, columns = -(-rows // 2), -(-columns // 2)
            passed = (int(width * expansion), rows, columns)
            for block in (f"{stack}.block{n + 1}" for n in range(BLOCKS)):
                first, second = (StackedConv2d(f"{block}.conv{n}", passed, width, 3, "same") for n in (1, 2))
                layers += [self.normed(first), second]
                units.append(self._stream(f"{block}.stream", conv.name, (first.name,), (width, rows, columns)))
                units.append(Unit(first.name, (width, rows, columns), first.name, (second.name,), kind="channel"))
            given = width
        units.append(self._stream("stream", layers[-1].name, (), (given, rows, columns)))
        return Maps(layers, units, (int(given * expansion), rows, columns))

    def encoded(
        self, layers: Sequence[Layer], parameters: Mapping[str, Tensor], x_KBCHW: Tensor, activate: Activate
    ) -> Tensor:
        """Images → the activated output of the last stack, (K, B, C, H, W)."""
        following, sites, x = iter(layers), count(), x_KBCHW
        for _ in self.widths:
            x = next(following)(parameters, x)
            if self.pooled:
                x = max_pooled(x, 3, 2, "same", kernels=isinstance(parameters, ThroughKernels))
            for _ in range(BLOCKS):
                h = next(following)(parameters, activate(next(sites), x))
                x = x + next(following)(parameters, activate(next(sites), h))
        return activate(next(sites), x)

    @staticmethod
    def _stream(name: str, incoming: str, outgoing: tuple[str, ...], produced: tuple[int, int, int]) -> Unit:
        return Unit(name, produced, incoming, outgoing, kind="channel", is_sum=True)
