"""The convolutional network of the case studies on Split-CIFAR-100."""

from plasticity_lab.networks.convolutional import Convolution, Convolutional, checked


class CNNCaseStudy(Convolutional):
    """Four convolutions, 2 × 2 max pooling behind the second and the fourth, one hidden layer, the outputs.

    Source: Section 2 and Appendix B (4 × 32 convolutions, 256 units, Kaiming initialisation with each slope's own
    gain). The paper leaves open kernel, padding and pooling: here 3 × 3, same, and pooling behind every other
    convolution, after the activation as in the network of the benchmarks.
    """

    called = "cnn_case_study"

    def __init__(
        self,
        channels: int = 32,
        kernel: int = 3,
        width: int = 256,
        padding: str = "same",
        order: str = "activation_pool",
        init: str = "kaiming",
        norm: str = "none",
    ) -> None:
        self.channels, self.kernel, self.width = checked(channels, kernel, width)
        plain, pooled = (Convolution(channels, kernel, pooled=each) for each in (False, True))
        super().__init__([plain, pooled, plain, pooled], [width], padding, init, norm, order)
