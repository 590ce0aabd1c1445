"""Which parameters a setting names: a layer's weights, one parameter, or all."""

from collections.abc import Sequence

from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.normed import linear_of

AUTO, ALL = "auto", "all"


def layers_of(model: Model) -> list[str]:
    """The names of its layers, in the order of the forward pass."""
    return [layer.name for layer in model.design.layers]


def with_gram(model: Model) -> list[str]:
    """The names of the linear layers and convolutions: `gram.grams` has a matrix for each, none if noisy."""
    inner = [getattr(layer, "layer", layer) for layer in model.design.layers]
    return [layer.name for layer in inner if isinstance(layer, StackedLinear | StackedConv2d)]


def auto_layer(model: Model) -> str:
    """The second linear layer that all bodies have, which leads from fc1 to fc2 (Appendix B); of one alone that one."""
    linear = [
        layer.name
        for layer in model.design.layers
        if isinstance(linear_of(layer), StackedLinear) and model.owner(f"{layer.name}.weight") is None
    ]
    return linear[min(1, len(linear) - 1)] if linear else layers_of(model)[0]


def check_named(setting: str, named: str, known: Sequence[str]) -> None:
    """Raises ConfigError where a block is none of those known."""
    if named not in known:
        raise ConfigError(f"{setting} is {named}; here it must be one of {', '.join(known)}.")
