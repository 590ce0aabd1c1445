"""The convolutional network of the case studies on Split-CIFAR-100."""

from plasticity_lab.networks.convolutional import Convolutional


class CNNCaseStudy(Convolutional):
    """Four convolutions, 2 × 2 max pooling behind the second and the fourth, one hidden layer, the outputs.

    Source: Section 2 and Appendix B (4 × 32 convolutions, 256 units, Kaiming initialisation with each slope's own
    gain). The paper leaves open kernel, padding and pooling: here 3 × 3, same, and pooling behind every other
    convolution, after the activation as in the network of the benchmarks.
    """

    called = "cnn_case_study"
    pooled = (False, True, False, True)
    hidden = 1

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
        super().__init__(channels, kernel, width, padding, order, init, norm)
