"""The layers and activations of a torch module as diagnostics know them, and their calls in a forward pass.

Legend: B examples, * the shape of one example. The run axis has one run.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, linear
from torch.nn.modules.conv import _ConvNd
from torch.utils._python_dispatch import TorchDispatchMode

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.activations.celu import CELU
from plasticity_lab.activations.elu import ELU
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.prelu import PReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.selu import SELU
from plasticity_lab.activations.sigmoid import Sigmoid
from plasticity_lab.activations.tanh import Tanh
from plasticity_lab.errors import InputError
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear

SELU_ALPHA = 1.6732632423543772
"""α of torch's SELU."""
OURS: Mapping[type[nn.Module], Callable[[Any], Activation]] = {
    nn.ReLU: lambda own: ReLU(),
    nn.Tanh: lambda own: Tanh(),
    nn.Sigmoid: lambda own: Sigmoid(),
    nn.ELU: lambda own: ELU(own.alpha),
    nn.CELU: lambda own: CELU(own.alpha),
    nn.SELU: lambda own: SELU(SELU_ALPHA),
    nn.LeakyReLU: lambda own: LeakyReLU(own.negative_slope),
    nn.PReLU: lambda own: PReLU("neuron" if own.num_parameters > 1 else "layer"),
}
"""Modules of families that we have, so that dead units are defined."""
OTHERS = (nn.GELU, nn.SiLU, nn.Softplus, nn.Mish, nn.Hardswish, nn.Hardtanh, nn.ReLU6, nn.LogSigmoid)
"""Other modules that make one value of one: their units are judged by size alone."""
ACTIVATIONS = (*OURS, *OTHERS)
LAYERS = (nn.Linear, _ConvNd)
Forward = Callable[[Tensor], Tensor]
FUNCTIONS = {
    "relu", "leaky_relu", "elu", "celu", "gelu", "silu", "mish", "softplus", "hardtanh", "hardswish", "hardsigmoid",
    "sigmoid", "tanh", "_prelu_kernel", "rrelu_with_noise", "threshold", "glu", "log_sigmoid_forward", "hardshrink",
    "softshrink", "maximum", "fmax", "where", "abs", "sin", "cos",
}  # fmt: skip
"""torch's operators that a forward pass can use as an activation; others (relu6) appear as one of these."""
AT_ZERO = {"clamp", "clamp_min", "clamp_max"}
"""Operators that are an activation if their bound is 0."""


class ModuleLinear(StackedLinear):
    """A linear layer with the module's own parameters: weight (1, outputs, inputs), which has no padding."""

    @property
    def padded(self) -> int:
        """The outputs: without padding."""
        return self.outputs

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (1, B, inputs) → (1, B, outputs)."""
        bias = parameters.get(f"{self.name}.bias")
        return linear(x[0], parameters[f"{self.name}.weight"][0], None if bias is None else bias[0]).unsqueeze(0)


@dataclass(frozen=True)
class ModuleConv2d(StackedConv2d):
    """A convolution with the module's own parameters.  around: rows and columns of zeros on each side."""

    around: int = 0

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
    """A layer of unknown structure: diagnostics know only the gradient by its output.

    forward: the module's forward function, which reads the module's parameters.
    """

    name: str
    forward: Callable[[Tensor], Tensor]

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (1, *) → (1, *)."""
        return self.forward(x[0]).unsqueeze(0)


class ModuleActivation(Activation):
    """An activation module of torch. It leaves its input unchanged, even if the module works in place."""

    def __init__(self, module: nn.Module) -> None:
        self.module = copy.copy(module)  # shares the parameters, and keeps its forward while the module's is replaced
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
    """A module of `LAYERS` as one of our layers.  shape: the shape of its input. examples: B."""
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


class Call(NamedTuple):
    """A call of a layer or an activation.  name: the module's. shape: the input's, B first."""

    name: str
    module: nn.Module
    shape: tuple[int, ...]


@contextmanager
def replaced(module: nn.Module, forwards: Mapping[str, Forward]) -> Iterator[None]:
    """Inside this context submodules compute these functions, by name; their hooks still run around them.

    A hook instead would run after the submodule's own function, which may have changed its input in place.
    """
    changed: list[tuple[nn.Module, bool, Any]] = []
    try:
        for name, forward in forwards.items():
            own = module.get_submodule(name)
            changed.append((own, "forward" in vars(own), own.forward))
            own.forward = _of_input(forward)  # pyright: ignore[reportAttributeAccessIssue]
        yield
    finally:
        for own, had_one, before in reversed(changed):
            if had_one:
                own.forward = before
            else:
                del own.forward


def calls_of(module: nn.Module, x: Tensor) -> list[Call]:
    """The calls of layers and activations in a forward pass, in their order.

    Raises InputError if a function that is no such module is used as an activation.
    """
    calls, watch = list[Call](), _Watch()

    def recorded(name: str, own: nn.Module) -> Forward:
        before = own.forward

        def forward(given: Tensor) -> Tensor:
            calls.append(Call(name, own, tuple(given.shape)))
            watch.called(within=isinstance(own, ACTIVATIONS))
            try:
                return before(given)
            finally:
                watch.within = False

        return forward

    known = {name: own for name, own in module.named_modules() if isinstance(own, (*LAYERS, *ACTIVATIONS))}
    # With gradients: without them torch may take a shortcut through a transformer's layer, without its modules.
    with replaced(module, {name: recorded(name, own) for name, own in known.items()}), torch.enable_grad(), watch:
        module(x)
    if watch.between:
        raise InputError(
            f"The forward pass computes {watch.between[0]} between two layers without an activation module, so that "
            "diagnostics would not see these units; use the module (nn.ReLU() for relu) in the module's __init__."
        )
    return calls


class _Watch(TorchDispatchMode):
    """Records operators that may be an activation, outside of activation modules and between layers.

    within: whether an activation module is computing. between: operators followed by a call of a layer or an activation
    module; operators after the last such call make the outputs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.within, self.between = False, list[str]()
        self._begun, self._since = False, list[str]()

    def called(self, within: bool) -> None:
        """Records the call of a layer, or of an activation."""
        self.between += self._since
        self._since, self._begun, self.within = [], True, within

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Computes the operator."""
        name, given = func.overloadpacket.__name__, (*args, *(kwargs or {}).values())
        name = name.removesuffix("_")
        at_zero = name in AT_ZERO and any(isinstance(each, int | float) and each == 0 for each in given)
        if self._begun and not self.within and (name in FUNCTIONS or at_zero):
            self._since.append(name.removeprefix("_").removesuffix("_kernel"))
        return func(*args, **(kwargs or {}))


def _of_input(forward: Forward) -> Callable[..., Tensor]:
    def call(input: Tensor) -> Tensor:  # torch's name, which a call may give
        return forward(input)

    return call
