"""Parts of designs that several networks share: output layers, units of dense layers, widths that fit an activation."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from plasticity_lab.activations.activation import Activation
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.network import Design, Layer, Shapes, Unit
from plasticity_lab.stacking.constant import StackedConstant


def only_body(bodies: Mapping[str, Shapes], network: str) -> Shapes:
    """The shapes of the only environment, for networks that serve one.  Raises ConfigError if environments differ."""
    shapes = list(bodies.values())
    if any(other != shapes[0] for other in shapes):
        raise ConfigError(
            f"network={network} has one input and one set of outputs, and the bodies {', '.join(bodies)} differ in "
            "theirs; choose a network that has some for each body."
        )
    return shapes[0]


class OutputLayers(NamedTuple):
    """The last layers. names: output → its layer. receiving: the layers that depend on the example (no constants)."""

    layers: list[Layer]
    names: dict[str, str]
    receiving: tuple[str, ...]


def output_layers(shapes: Shapes, inputs: int) -> OutputLayers:
    """A dense layer for each output (the layer of "logits" is called `output`), then one for each constant."""
    dense = [
        shapes.dense("output" if name == "logits" else name, inputs, size) for name, size in shapes.outputs.items()
    ]
    constants = [StackedConstant(name, size) for name, size in shapes.constants.items()]
    layers = [*dense, *constants]
    names = dict(zip([*shapes.outputs, *shapes.constants], (layer.name for layer in layers), strict=True))
    return OutputLayers(layers, names, tuple(layer.name for layer in dense))


def dense_units(widths: Mapping[str, int], receiving: tuple[str, ...]) -> list[Unit]:
    """The units of dense layers that follow each other, layer → width.  receiving: the layers after the last one."""
    names = list(widths)
    following = [*((name,) for name in names[1:]), receiving] if names else []
    return [Unit(name, (widths[name],), name, after) for name, after in zip(names, following, strict=True)]


def fitted(activation: Activation, plain: Callable[[], Design], trimmed: Callable[[int], Design]) -> Design:
    """The design for an activation, with narrower layers if it adds parameters and has to match the plain design.

    plain: the design for an activation that adds nothing. trimmed: percent → the design with hidden widths reduced by
    it (see `narrower`). The percentage is the largest that leaves no fewer parameters than `plain`. Concatenating
    activations double the inputs of the next layer. Source: Kumar et al. 2023; for CReLU 9 % off the 2 × 100 MLP, and
    off the CNN on 32 × 32 × 3 images 27 % with 10 classes, 31 % with 100.
    """
    if not activation.matches_parameters:
        return trimmed(0)
    target = plain().size
    return trimmed(max((percent for percent in range(100) if trimmed(percent).size >= target), default=0))


def narrower(width: int, percent: int) -> int:
    """The width reduced by a percentage, rounded down, and at least 1."""
    return max(1, width * (100 - percent) // 100)
