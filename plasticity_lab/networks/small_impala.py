"""The residual network of boards: one stack of an `Impala`."""

from plasticity_lab.component import check
from plasticity_lab.networks.residual import Residual


class SmallImpala(Residual):
    """One stack of 16 channels, and a hidden layer of 128.

    width: times the channels. pooled: whether the stack is; of a board of 10 × 10, 5 × 5 × 16 numbers are left with
    it, and 10 × 10 × 16 without. hidden: units of the layer behind. `init`, `norm`: see `Residual`.
    """

    called = "small_impala"

    def __init__(
        self, width: int = 1, pooled: bool = True, hidden: int = 128, init: str = "xavier", norm: str = "none"
    ) -> None:
        self.width = check("network.width", width, at_least=1)
        super().__init__([width * 16], pooled, hidden, init, norm)
