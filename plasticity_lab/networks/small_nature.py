"""The convolutional network of boards: a `Nature` that keeps every square in sight."""

from plasticity_lab.component import check
from plasticity_lab.networks.convolutional import Convolution, Convolutional


class SmallNature(Convolutional):
    """Two convolutions 3×3, of 16 and 32 channels, a hidden layer, a linear layer for each output.

    width: times the channels of both. stride: of both; with 1 no square of a small board is passed over, and an image
    of 84 × 84 pixels wants 4. hidden: units of the layer behind. `padding`, `init`, `norm`: as of nature.
    """

    called = "small_nature"
    inits = ("default", "kaiming", "lecun", "xavier")

    def __init__(
        self,
        width: int = 1,
        hidden: int = 128,
        stride: int = 1,
        padding: str = "same",
        init: str = "xavier",
        norm: str = "none",
    ) -> None:
        self.width = check("network.width", width, at_least=1)
        hidden = check("network.hidden", hidden, at_least=1)
        stride = check("network.stride", stride, at_least=1)
        super().__init__(
            [Convolution(width * channels, 3, stride) for channels in (16, 32)], [hidden], padding, init, norm
        )
