"""Facts that follow from the kinds of a network's layers: the parts of our kernels that it calls, hidden matrices."""

from collections.abc import Sequence

from plasticity_lab.kernels.operators import RANDOM_NUMBERS
from plasticity_lab.networks.network import Design, Layer
from plasticity_lab.networks.noise import TakesNoise
from plasticity_lab.stacking.attended import StackedAttended
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.normed import linear_of
from plasticity_lab.stacking.router import StackedRouter


def kernel_parts(layers: Sequence[Layer], randomised: bool) -> list[str]:
    """The parts of our kernels that layers call (`kernels.operators.PARTS`), if they take long to compile.

    Other parts are compiled when a layer calls them.
    randomised: whether the activation draws random numbers.
    """
    own = [linear_of(layer) for layer in layers]
    called = {
        "conv": any(isinstance(layer, StackedConv2d) and layer.stride == 1 for layer in own),
        "linear": True,
        "softmax": any(isinstance(layer, StackedRouter) for layer in own),
        "attention": any(isinstance(layer, StackedAttended) for layer in own),
        RANDOM_NUMBERS: randomised or any(isinstance(layer, TakesNoise) and layer.noise(1) for layer in layers),
    }
    return [part for part, calls in called.items() if calls]


def hidden_layers(design: Design) -> frozenset[str]:
    """The layers with hidden matrices: an activation precedes and follows them.

    In a network with attention also all linear layers of tokens: each is between other layers of its block.
    """
    followed = {layer for unit in design.units for layer in unit.outgoing}
    hidden = {unit.incoming for unit in design.units if unit.incoming in followed}
    if any(isinstance(layer, StackedAttended) for layer in design.layers):
        linear = (layer for layer in design.layers if isinstance(layer, StackedLinear))
        hidden |= {layer.name for layer in linear if layer.positions > 1}
    return frozenset(hidden)
