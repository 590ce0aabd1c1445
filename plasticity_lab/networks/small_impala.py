"""The residual network of boards: one stack of an `Impala`."""

from plasticity_lab.component import check
from plasticity_lab.networks.residual import Residual
from plasticity_lab.networks.tokenization import Tokens


class SmallImpala(Residual):
    """One stack of 16 channels, and a hidden layer of 128.

    width: factor of the channels. pooled: whether the stack has pooling; a board of 10 × 10 becomes 5 × 5 × 16 numbers
    with it, and 10 × 10 × 16 without. hidden: units of a hidden layer. `init`, `norm`: see `Residual`. layers: number
    of hidden layers. tokens, patch: for heads that take tokens (see `Tokens`).
    """

    called = "small_impala"
    neutral = {**Residual.neutral, "layers": 1, "tokens": "per_conv", "patch": 2}

    def __init__(
        self,
        width: int = 1,
        pooled: bool = True,
        hidden: int = 128,
        init: str = "xavier",
        norm: str = "none",
        layers: int = 1,
        tokens: str = "per_conv",
        patch: int = 2,
    ) -> None:
        self.width = check("network.width", width, at_least=1)
        super().__init__([width * 16], pooled, hidden, layers, init, norm, Tokens(tokens, patch))
