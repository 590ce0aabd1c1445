"""The parameters of a pack that computes its layers by the kernels, and the preparation of these.

Legend: K runs, B examples, C channels, H, W rows and columns, I inputs, O outputs; of tables R rows, C columns.
"""

from collections.abc import Iterable, Mapping
from functools import cache

import torch
from torch import Tensor

from plasticity_lab.kernels import build, operators
from plasticity_lab.kernels.conv import conv
from plasticity_lab.kernels.conv import tell_shapes as tell_shapes_of_conv
from plasticity_lab.kernels.linear import linear
from plasticity_lab.kernels.linear import tell_shapes as tell_shapes_of_linear
from plasticity_lab.kernels.pool import pool
from plasticity_lab.kernels.pool import tell_shapes as tell_shapes_of_pool
from plasticity_lab.kernels.softmax import softmax
from plasticity_lab.kernels.softmax import tell_shapes as tell_shapes_of_softmax

Tensors = Mapping[str, Tensor]


class ThroughKernels(dict[str, Tensor]):
    """The parameters of a pack whose linear and convolutional layers are computed by the kernels.

    taps: layer → zeros (K, B, O), added to what the layer answers: the gradient by them is that by the answer, from
    which, with what the layer was given, that of the weights follows. given: layer → (K, B, I), noted of those layers.
    """

    def __init__(self, parameters: Tensors, taps: Tensors | None = None) -> None:
        super().__init__(parameters)
        self.taps = {} if taps is None else taps
        self.given: dict[str, Tensor] = {}

    def linear(self, layer: str, x_KBI: Tensor) -> Tensor:
        """What the layer makes of x, (K, B, O).  x (1, B, I): all runs are given it; such a layer has no tap."""
        h_KBO = linear(x_KBI, self[f"{layer}.weight"], self[f"{layer}.bias"])
        if layer not in self.taps:
            return h_KBO
        assert layer not in self.given, f"{layer} is used twice, and has one tap"
        self.given[layer] = x_KBI
        return h_KBO + self.taps[layer]

    def conv(self, layer: str, x_KBCHW: Tensor, kernel: int, margin: int) -> Tensor:
        """What a convolution makes of x, (K, B, O, H', W'), channels last in memory."""
        x_KBHWC = x_KBCHW.movedim(2, -1)
        return conv(x_KBHWC, self[f"{layer}.weight"], self[f"{layer}.bias"], kernel, margin).movedim(-1, 2)

    def shares(self, x_KBRC: Tensor, there: int | None = None) -> Tensor:
        """Of each example's table the shares along each row, or of the first `there` rows down each column."""
        tables = x_KBRC.flatten(0, 1)
        return softmax(tables, there is not None, there or 0).unflatten(0, x_KBRC.shape[:2])


def through(parameters: Tensors, kernels: bool) -> Tensors:
    """The parameters as a forward pass takes them that nobody learns from.  kernels: whether our own compute layers."""
    return ThroughKernels(parameters) if kernels else parameters


def as_given(parameters: Tensors, own: Tensors) -> Tensors:
    """Numbers that a layer made of the parameters, to be computed with by the kernels where these are."""
    return ThroughKernels(own) if isinstance(parameters, ThroughKernels) else own


def prepare(parts: Iterable[str] = ()) -> None:
    """Tells torch of the kernels, and begins to compile those parts that are not there yet; others follow when called.

    Raises KernelsMissing.
    """
    build.expect(parts)
    _define()


@cache
def _define() -> None:
    """Gives torch the operators, and the shapes of their results."""
    operators.define()
    # Dynamo would trace into the functions and, in torch 2.13, forget their backward under torch.func.grad; what it
    # leaves to the tracing after it keeps it. Said here and not where they are: it imports all of torch.compile.
    for function in (linear, conv, pool, softmax):
        torch.compiler.allow_in_graph(function)
    tell_shapes_of_linear()
    tell_shapes_of_conv()
    tell_shapes_of_pool()
    tell_shapes_of_softmax()
