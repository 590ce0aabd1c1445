"""The convolutional network of boards: a `Nature` with small strides, so that no square is skipped."""

from plasticity_lab.component import check
from plasticity_lab.networks.convolutional import Convolution, Convolutional
from plasticity_lab.networks.tokenization import Tokens


class SmallNature(Convolutional):
    """Two convolutions 3×3, of 16 and 32 channels, a hidden layer, a dense layer for each output.

    convolutions: 1 leaves the second out, as in MinAtar's DQN (Young and Tian 2019: 16 channels, hidden 128).
    width: factor of the channels of each. stride: of each; with 1 no square of a small board is skipped, and an image
    of 84 × 84 pixels needs 4. hidden: units of a hidden layer. `padding`, `init`, `norm`, layers, tokens, patch: see
    `Nature`.
    """

    called = "small_nature"
    neutral = {**Convolutional.neutral, "convolutions": 2, "layers": 1, "tokens": "per_conv", "patch": 2}
    inits = ("default", "kaiming", "lecun", "xavier", "variance_scaling")

    def __init__(
        self,
        width: int = 1,
        hidden: int = 128,
        stride: int = 1,
        padding: str = "same",
        init: str = "xavier",
        norm: str = "none",
        convolutions: int = 2,
        layers: int = 1,
        tokens: str = "per_conv",
        patch: int = 2,
    ) -> None:
        self.width = check("network.width", width, at_least=1)
        hidden = check("network.hidden", hidden, at_least=1)
        stride = check("network.stride", stride, at_least=1)
        channels = (16, 32)[: check("network.convolutions", convolutions, one_of=(1, 2))]
        each = [Convolution(width * count, 3, stride) for count in channels]
        hidden_layers = [hidden] * check("network.layers", layers, at_least=1)
        super().__init__(each, hidden_layers, padding, init, norm, tokens=Tokens(tokens, patch))
