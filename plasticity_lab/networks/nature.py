"""The convolutional network of DQN on Atari."""

from plasticity_lab.component import check
from plasticity_lab.networks.convolutional import Convolution, Convolutional
from plasticity_lab.networks.tokenization import Tokens


class Nature(Convolutional):
    """Convolutions 32 8×8/4, 64 4×4/2 and 64 3×3/1, a hidden layer of 512, a linear layer for each output.

    Source: Mnih et al. 2015, as in Dopamine's value agents: padding same, so 84 × 84 pixels become 11 × 11 (with valid,
    as in 2015, 7 × 7), weights xavier, biases zero. width: factor of the channels of every convolution ("Convolutional
    width" of Table 1 of Sokar et al. 2025). hidden: units of a hidden layer. `init`: default (PyTorch's), kaiming (with
    the activation's gain), lecun, xavier or variance_scaling (Dopamine's lite agents).
    `norm`: none or layer (before each activation). layers: number of hidden layers. tokens, patch: for heads that take
    tokens (see `Tokens`).
    """

    called = "nature"
    neutral = {**Convolutional.neutral, "layers": 1, "tokens": "per_conv", "patch": 3}
    inits = ("default", "kaiming", "lecun", "xavier", "variance_scaling")

    def __init__(
        self,
        width: int = 1,
        hidden: int = 512,
        padding: str = "same",
        init: str = "xavier",
        norm: str = "none",
        layers: int = 1,
        tokens: str = "per_conv",
        patch: int = 3,
    ) -> None:
        self.width = check("network.width", width, at_least=1)
        hidden = check("network.hidden", hidden, at_least=1)
        shapes = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
        convolutions = [Convolution(width * channels, kernel, stride) for channels, kernel, stride in shapes]
        hidden_layers = [hidden] * check("network.layers", layers, at_least=1)
        super().__init__(convolutions, hidden_layers, padding, init, norm, tokens=Tokens(tokens, patch))
