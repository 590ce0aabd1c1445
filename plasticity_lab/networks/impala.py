"""The residual network of value agents on Atari."""

from plasticity_lab.component import check
from plasticity_lab.networks.residual import Residual
from plasticity_lab.networks.tokenization import Tokens


class Impala(Residual):
    """Stacks of 16, 32 and 32 channels, each pooled, and a hidden layer of 512.

    Source: Espeholt et al. 2018, as in Dopamine's value agents: 84 × 84 pixels become 11 × 11 × 32 numbers. width:
    factor of the channels of every stack ("Convolutional width" of Table 1 of Sokar et al. 2025, Dopamine's nn_scale).
    hidden: units of a hidden layer after the stacks. `init`, `norm`: see `Residual`. layers: number of hidden layers.
    tokens, patch: for heads that take tokens (see `Tokens`).
    """

    called = "impala"
    neutral = {**Residual.neutral, "layers": 1, "tokens": "per_conv", "patch": 3}

    def __init__(
        self,
        width: int = 1,
        hidden: int = 512,
        init: str = "xavier",
        norm: str = "none",
        layers: int = 1,
        tokens: str = "per_conv",
        patch: int = 3,
    ) -> None:
        self.width = check("network.width", width, at_least=1)
        super().__init__(
            [width * channels for channels in (16, 32, 32)], True, hidden, layers, init, norm, Tokens(tokens, patch)
        )
