"""The convolutional network of the continual supervised benchmarks."""

from plasticity_lab.networks.convolutional import Convolution, Convolutional, checked


class CNN(Convolutional):
    """Two convolutions with 2 × 2 max pooling, two hidden layers, a linear layer for each output.  Source: Appendix B.

    The paper says 5 × 5 and 16 channels, then 2 × 100. It leaves open `padding` (valid | same: zeros around, images
    keep their size) and `order` (activation_pool | pool_activation: which comes first). The defaults valid and
    activation_pool are from Kumar et al. 2023, the network's source. `init`: default (PyTorch's) or kaiming (with the
    activation's gain).
    `norm`: one of NORMS (before each activation, as their layer normalisation).
    """

    called = "cnn"

    def __init__(
        self,
        channels: int = 16,
        kernel: int = 5,
        width: int = 100,
        padding: str = "valid",
        order: str = "activation_pool",
        init: str = "default",
        norm: str = "none",
    ) -> None:
        self.channels, self.kernel, self.width = checked(channels, kernel, width)
        pooled = Convolution(channels, kernel, pooled=True)
        super().__init__([pooled, pooled], [width, width], padding, init, norm, order)
