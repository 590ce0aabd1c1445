"""torch's functions by their names: activations with their settings, layers, and functions that may be activations.

A call is known by the name of its function, however it is written: nn.ReLU, F.relu, torch.relu, x.relu_().
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import torch
import torch.nn.functional as f
from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.activations.celu import CELU
from plasticity_lab.activations.elu import ELU
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.prelu import PReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.selu import SELU
from plasticity_lab.activations.sigmoid import Sigmoid
from plasticity_lab.activations.tanh import Tanh
from plasticity_lab.errors import ConfigError
from plasticity_lab.outside.activations import OurActivation, our_activation

SELU_ALPHA = 1.6732632423543772
"""α of torch's SELU."""
PLAIN: Mapping[str, Callable[..., Tensor]] = {
    "relu": torch.relu, "leaky_relu": f.leaky_relu, "elu": f.elu, "celu": f.celu, "selu": f.selu, "prelu": torch.prelu,
    "rrelu": f.rrelu, "gelu": f.gelu, "silu": f.silu, "mish": f.mish, "softplus": f.softplus, "hardtanh": f.hardtanh,
    "relu6": f.relu6, "hardswish": f.hardswish, "hardsigmoid": lambda x: f.relu6(x + 3) / 6, "sigmoid": torch.sigmoid,
    "expit": torch.sigmoid, "tanh": torch.tanh, "logsigmoid": f.logsigmoid, "log_sigmoid": f.logsigmoid,
    "softsign": f.softsign, "tanhshrink": f.tanhshrink, "hardshrink": f.hardshrink, "softshrink": f.softshrink,
    "threshold": f.threshold, "clamp": torch.clamp, "clip": torch.clamp, "clamp_min": torch.clamp_min,
    "clamp_max": torch.clamp_max, "glu": f.glu, "our_activation": our_activation,
}  # fmt: skip
"""Activations, functions of one value (glu takes two): name, without "_" at its end → a function that torch can
differentiate twice."""
LAYERS = frozenset({
    "linear", "bilinear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "addmm", "baddbmm", "einsum", "tensordot", "lstm", "gru",
    "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "embedding", "embedding_bag",
    "multi_head_attention_forward",
})  # fmt: skip
"""Functions that are layers if parameters are among their arguments."""
CELLS = frozenset({"lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"})
RECURRENT = CELLS | {"lstm", "gru", "rnn_tanh", "rnn_relu"}
"""Layers that compute activations inside; these are not measured."""
WITHOUT_PRODUCT = RECURRENT | {"embedding", "embedding_bag"}
"""Layers that neither multiply matrices nor convolve: their parameters do not count in gradients of examples."""
BENT = frozenset({
    "abs", "absolute", "sin", "cos", "tan", "sinh", "cosh", "asin", "acos", "atan", "arcsin", "arccos", "arctan",
    "asinh", "acosh", "atanh", "atan2", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "logit", "logaddexp",
    "logaddexp2", "xlogy", "sqrt", "rsqrt", "pow", "rpow", "float_power", "square", "erf", "erfc", "sign", "sgn",
    "reciprocal", "rtruediv", "maximum", "minimum", "fmax", "fmin", "hypot", "heaviside", "sinc", "round", "floor",
    "ceil", "frac", "trunc", "fix", "fmod", "remainder", "mod", "ipow",
})  # fmt: skip
"""Functions of single values that are not linear: an activation that is written with them would not be noticed."""


class Elementwise(Activation):
    """A function of torch that makes one value of one, for example GELU: its units are judged by size alone.

    compute: (values) → like them.
    """

    def __init__(self, compute: Callable[[Tensor], Tensor]) -> None:
        self.compute = compute

    def on_run_axis(self) -> dict[str, float]:
        """Nothing: a module has no settings that differ between runs."""
        return {}

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (1, *) → like x."""
        return self.compute(x)


class Gated(Elementwise):
    """GLU: the first half of the units times the sigmoid of the second half."""

    expansion = Fraction(1, 2)

    def __init__(self) -> None:
        super().__init__(lambda x: f.glu(x, 2))


class OfModule(Elementwise):
    """A module of the laboratory's activations that learns values, or passes on another number of them."""

    def __init__(self, module: OurActivation) -> None:
        self.expansion = module.expansion  # pyright: ignore[reportAttributeAccessIssue]
        super().__init__(module.on_stack)


@dataclass(frozen=True)
class ActivationCall:
    """A call of an activation.  name: a key of PLAIN. z: its input. rest: its other arguments. in_place: whether it
    writes its values into z.
    """

    name: str
    z: Tensor
    rest: Sequence[Any]
    named: Mapping[str, Any]
    in_place: bool

    def compute(self, z: Tensor) -> Tensor:
        """The function of other values, not in place."""
        return PLAIN[self.name](z, *self.rest, **self.named)

    def activation(self) -> Activation:
        """The laboratory's activation with these settings, or an `Elementwise` if it has none."""
        try:
            return self._ours() or Elementwise(self.compute)
        except ConfigError:  # settings that the laboratory does not allow
            return Elementwise(self.compute)

    def _ours(self) -> Activation | None:
        name, values = self.name, self.arguments()
        if name == "our_activation":
            module = self.rest[0]
            return OfModule(module) if module.own.learnable(1) else module.own
        if name == "relu" or (name in ("clamp", "clip", "clamp_min") and _only_from_zero(values)):
            return ReLU()
        if name == "threshold" and values.get("threshold") == values.get("value") == 0:
            return ReLU()
        if name == "leaky_relu":
            return LeakyReLU(float(values["negative_slope"]))
        if name == "rrelu":
            return LeakyReLU((float(values["lower"]) + float(values["upper"])) / 2)
        if name in ("elu", "celu"):
            return (ELU if name == "elu" else CELU)(float(values["alpha"]))
        if name == "prelu":
            return PReLU("neuron" if values["weight"].numel() > 1 else "layer")
        plain = {"selu": lambda: SELU(SELU_ALPHA), "sigmoid": Sigmoid, "expit": Sigmoid, "tanh": Tanh, "glu": Gated}
        return plain[name]() if name in plain else None

    def arguments(self) -> dict[str, Any]:
        """All arguments after the values, by name, with defaults."""
        names = ARGUMENTS.get(self.name, {})
        return {**names, **dict(zip(names, self.rest, strict=False)), **self.named}


ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "leaky_relu": {"negative_slope": 0.01},
    "elu": {"alpha": 1.0, "scale": 1.0, "input_scale": 1.0},
    "celu": {"alpha": 1.0},
    "rrelu": {"lower": 1 / 8, "upper": 1 / 3, "training": False},
    "prelu": {"weight": None},
    "threshold": {"threshold": None, "value": None},
    "clamp": {"min": None, "max": None},
    "clip": {"min": None, "max": None},
    "clamp_min": {"min": None},
    "clamp_max": {"max": None},
    "glu": {"dim": -1},
}
"""Name → the arguments after the values, with torch's defaults."""


@dataclass(frozen=True)
class ModuleCall(ActivationCall):
    """A call of a submodule that is an activation.  name: its path. forward: its function."""

    forward: Callable[[Tensor], Tensor]

    def compute(self, z: Tensor) -> Tensor:
        """The function of other values."""
        return self.forward(z)

    def activation(self) -> Activation:
        """An `Elementwise`."""
        return Elementwise(self.forward)


def _only_from_zero(values: Mapping[str, Any]) -> bool:
    low, high = values.get("min"), values.get("max")
    return isinstance(low, int | float) and low == 0 and high is None


def name_of(func: Callable[..., Any]) -> str:
    """The name of a called function of torch, or "get " and the name of a read attribute."""
    name = getattr(func, "__name__", repr(func))
    return f"get {func.__self__.__name__}" if name == "__get__" else name  # pyright: ignore


def activation_call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> ActivationCall | None:
    """The call as one of an activation; None if the function is not one, or works on numbers that are not floats."""
    bare = name.removesuffix("_")
    if bare not in PLAIN:
        return None
    named = {key: value for key, value in kwargs.items() if key not in ("input", "self", "out")}
    z, rest = (args[0], list(args[1:])) if args else (kwargs.get("input", kwargs.get("self")), [])
    in_place = name.endswith("_") or bool(named.pop("inplace", False))
    if "out" in kwargs or not isinstance(z, Tensor) or not z.is_floating_point():
        return None
    where = _place_of_inplace(bare)
    if where is not None and len(rest) > where:
        in_place = in_place or bool(rest.pop(where))
    return ActivationCall(bare, z, rest, named, in_place)


def _place_of_inplace(name: str) -> int | None:
    """The position of the argument `inplace` after the values in torch.nn.functional's function."""
    if name == "relu":
        return 0
    try:
        names = list(inspect.signature(PLAIN[name]).parameters)
    except (TypeError, ValueError):  # torch's own functions, which have no such argument
        return None
    return names.index("inplace") - 1 if "inplace" in names else None


class Convolution(NamedTuple):
    """The settings of a convolution. margins: zeros added before and behind each side of its input."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    margins: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    groups: int


def convolution(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Convolution | None:
    """The settings of a call of conv1d, conv2d or conv3d; None for any other function."""
    if name not in ("conv1d", "conv2d", "conv3d"):
        return None
    names = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
    given = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, **dict(zip(names, args, strict=False)), **kwargs}
    kernel = tuple(given["weight"].shape[2:])
    stride, dilation = (_each(given[part], len(kernel)) for part in ("stride", "dilation"))
    if given["padding"] == "same":
        wide = [step * (size - 1) for size, step in zip(kernel, dilation, strict=True)]
        margins = tuple((each // 2, each - each // 2) for each in wide)
    else:
        around = _each(0 if given["padding"] == "valid" else given["padding"], len(kernel))
        margins = tuple((each, each) for each in around)
    return Convolution(kernel, stride, margins, dilation, int(given["groups"]))


def _each(value: int | Sequence[int], count: int) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,) * count
    return tuple(value) * (count if len(value) == 1 else 1)
