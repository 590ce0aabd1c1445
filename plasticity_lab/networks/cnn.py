"""The convolutional network of the continual supervised benchmarks."""

from plasticity_lab.networks.convolutional import Convolutional


class CNN(Convolutional):
    """Two convolutions with 2 × 2 max pooling, two hidden layers, a linear layer for each output.  Source: Appendix B.

    The paper says 5 × 5 and 16 channels, then 2 × 100. It leaves open `padding` (valid | same: zeros around, images
    keep their size) and `order` (activation_pool | pool_activation: which comes first); valid and activation_pool are
    Kumar et al. 2023's, whose network it is. `init`: default (PyTorch's) or kaiming (with the activation's gain).
    `norm`: none or layer (before each activation, as theirs).
    """

    called = "cnn"
    pooled = (True, True)
    hidden = 2

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
        super().__init__(channels, kernel, width, padding, order, init, norm)
