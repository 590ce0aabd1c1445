"""The layers and activations of a torch module as diagnostics know them.

Legend: B examples, * the shape of one example. The run axis has one run.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import conv2d, linear
from torch.nn.modules.conv import _ConvNd

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.activations.elu import ELU
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.prelu import PReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.sigmoid import Sigmoid
from plasticity_lab.activations.tanh import Tanh
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear

OURS: Mapping[type[nn.Module], Callable[[Any], Activation]] = {
    nn.ReLU: lambda own: ReLU(),
    nn.Tanh: lambda own: Tanh(),
    nn.Sigmoid: lambda own: Sigmoid(),
    nn.ELU: lambda own: ELU(own.alpha),
    nn.LeakyReLU: lambda own: LeakyReLU(own.negative_slope),
    nn.PReLU: lambda own: PReLU("neuron" if own.num_parameters > 1 else "layer"),
}
"""Kinds of modules with a known family, so that dead units are known too."""
OTHERS = (nn.GELU, nn.SiLU, nn.SELU, nn.CELU, nn.Softplus, nn.Mish, nn.Hardswish, nn.Hardtanh, nn.ReLU6, nn.LogSigmoid)
"""Others that make one value of one: their units are judged by their size alone."""
ACTIVATIONS = (*OURS, *OTHERS)
LAYERS = (nn.Linear, _ConvNd)


class ModuleLinear(StackedLinear):
    """A linear layer with the module's own parameters: weight (1, outputs, inputs), which has no padding."""

    @property
    def padded(self) -> int:
        """None is."""
        return self.outputs

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (1, B, inputs) → (1, B, outputs)."""
        bias = parameters.get(f"{self.name}.bias")
        return linear(x[0], parameters[f"{self.name}.weight"][0], None if bias is None else bias[0]).unsqueeze(0)


@dataclass(frozen=True)
class ModuleConv2d(StackedConv2d):
    """A convolution with the module's own parameters.  around: rows and columns of zeros on each side."""

    around: int = 0

    @cached_property
    def linear(self) -> StackedLinear:
        """The map from a patch to the output channels."""
        return ModuleLinear(self.name, self.image[0] * self.kernel**2, self.outputs)

    @property
    def margins(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The same on all sides."""
        return (self.around, self.around), (self.around, self.around)

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (1, B, C, H, W) → (1, B, O, H', W')."""
        bias = parameters.get(f"{self.name}.bias")
        weight = parameters[f"{self.name}.weight"][0]
        own = None if bias is None else bias[0]
        return conv2d(x[0], weight, own, stride=self.stride, padding=self.around).unsqueeze(0)


@dataclass(frozen=True)
class OtherLayer:
    """A layer that diagnostics cannot look into: they know only the gradient by its output.

    forward: the module's own, which reads the module's parameters.
    """

    name: str
    forward: Callable[[Tensor], Tensor]

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (1, *) → (1, *)."""
        return self.forward(x[0]).unsqueeze(0)


class ModuleActivation(Activation):
    """An activation of torch, by itself. Its input stays as it is, also if the module works in place."""

    def __init__(self, module: nn.Module) -> None:
        self.module = copy.copy(module)  # shares the parameters; its own forward stays while the module's is replaced
        if getattr(module, "inplace", False):
            self.module.inplace = False  # pyright: ignore[reportArgumentType]

    def on_run_axis(self) -> dict[str, float]:
        """Nothing."""
        return {}

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (1, *) → like x."""
        return self.module.forward(x)  # without the module's hooks, which run around this call


def activation_of(own: nn.Module) -> Activation:
    """Our activation for a module of `ACTIVATIONS`."""
    return OURS[type(own)](own) if type(own) in OURS else ModuleActivation(own)


def settings_of(own: nn.Module) -> dict[str, Any]:
    """The settings of an activation module that decide its function, by name."""
    skipped = {"training", "inplace", "num_parameters", "forward"}  # each place of a PReLU has separate slopes
    return {name: value for name, value in vars(own).items() if not name.startswith("_") and name not in skipped}


def layer_of(
    name: str, own: nn.Module, shape: tuple[int, ...], examples: int
) -> ModuleLinear | ModuleConv2d | OtherLayer:
    """A module of `LAYERS` as ours.  shape: its input's. examples: B."""
    return _looked_into(name, own, shape, examples) or OtherLayer(name, own.forward)


def _looked_into(
    name: str, own: nn.Module, shape: tuple[int, ...], examples: int
) -> ModuleLinear | ModuleConv2d | None:
    # A weight that is computed at each call (weight_norm, pruning) is no parameter of the layer.
    computed = any(getattr(own, part) is not None and own._parameters.get(part) is None for part in ("weight", "bias"))
    if computed or shape[0] != examples or "forward" in vars(own):  # a row of a product must be an example
        return None
    if isinstance(own, nn.Linear) and type(own).forward is nn.Linear.forward and len(shape) == 2:
        return ModuleLinear(name, own.in_features, own.out_features)
    if not isinstance(own, nn.Conv2d) or type(own).forward is not nn.Conv2d.forward or len(shape) != 4:
        return None
    if isinstance(own.padding, str):
        return None
    around, *_ = own.padding
    alike = all(len({*each}) == 1 for each in (own.kernel_size, own.stride, own.padding, own.dilation))
    if alike and own.padding_mode == "zeros" and own.groups == own.dilation[0] == 1:
        image = (own.in_channels, shape[2], shape[3])
        return ModuleConv2d(name, image, own.out_channels, own.kernel_size[0], "valid", own.stride[0], int(around))
    return None
