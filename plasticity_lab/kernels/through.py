"""The parameters of a pack with layers computed by our kernels, and the preparation of the kernels.

Legend: K runs, B examples, C channels, H, W rows and columns, I inputs, O outputs; R rows and C columns of a table.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from torch import Tensor

from plasticity_lab.kernels import build, operators
from plasticity_lab.kernels.layers import conv, linear, softmax
from plasticity_lab.kernels.shapes import tell_shapes

Tensors = Mapping[str, Tensor]


class Tapped(dict[str, Tensor]):
    """The parameters of a pack, if a kernel takes the optimizer step of linear layers.

    taps: layer → zeros (K, B, O), added to the output of the layer: the gradient by them is the gradient by the output.
    With the layer's input it gives the gradient of the weights. given: layer → its input (K, B, I), for these layers.
    """

    def __init__(self, parameters: Tensors, taps: Tensors | None = None) -> None:
        super().__init__(parameters)
        self.taps = {} if taps is None else taps
        self.given: dict[str, Tensor] = {}

    def tapped(self, layer: str, x_KBI: Tensor, h_KBO: Tensor) -> Tensor:
        """The output of a layer with its tap, if it has one.  x: the input. h: the output."""
        if layer not in self.taps:
            return h_KBO
        assert layer not in self.given, f"{layer} is used twice, and has one tap"
        self.given[layer] = x_KBI
        return h_KBO + self.taps[layer]


class ThroughKernels(Tapped):
    """The parameters of a pack with linear and convolutional layers computed by our kernels of a CPU."""

    def linear(self, layer: str, x_KBI: Tensor) -> Tensor:
        """The output of a linear layer, (K, B, O).  x (1, B, I): the input of all runs; such a layer has no tap."""
        return self.tapped(layer, x_KBI, linear(x_KBI, self[f"{layer}.weight"], self[f"{layer}.bias"]))

    def conv(self, layer: str, x_KBCHW: Tensor, kernel: int, margin: int) -> Tensor:
        """The output of a convolution, (K, B, O, H', W'), channels last in memory."""
        x_KBHWC = x_KBCHW.movedim(2, -1)
        return conv(x_KBHWC, self[f"{layer}.weight"], self[f"{layer}.bias"], kernel, margin).movedim(-1, 2)

    def shares(self, x_KBRC: Tensor, there: int | None = None) -> Tensor:
        """The softmax of each example's table along each row, or down each column over the first `there` rows."""
        tables = x_KBRC.flatten(0, 1)
        return softmax(tables, there is not None, there or 0).unflatten(0, x_KBRC.shape[:2])


def through(parameters: Tensors, kernels: bool) -> Tensors:
    """The parameters for a forward pass without gradients.  kernels: whether our kernels compute the layers."""
    return ThroughKernels(parameters) if kernels else parameters


def as_given(parameters: Tensors, own: Tensors) -> Tensors:
    """Numbers that a layer computed from the parameters; our kernels take them if they take the parameters."""
    return ThroughKernels(own) if isinstance(parameters, ThroughKernels) else own


def prepare(parts: Iterable[str] = (), at_once: bool = True) -> None:
    """Defines the kernels' operators, and begins to compile these parts; other parts are compiled at their first call.

    at_once: see `build.expect`.  Raises KernelsMissing.
    """
    build.expect(parts, at_once)
    _define()


@cache
def _define() -> None:
    """Gives torch the operators and the shapes of their results, once in a process, for its graphs."""
    operators.define()
    operators.call_in_graphs()
    tell_shapes()
