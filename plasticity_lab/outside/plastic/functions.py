"""torch's functions, sorted by their effect on units: activations, layers, normalisations, and functions between."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from plasticity_lab.outside.functions import PLAIN

CLAMPS = {"clamp", "clip", "clamp_min", "clamp_max"}
"""Activations if a bound is 0."""
ACTIVATIONS = {*PLAIN, "sin", "cos"} - CLAMPS
"""Names without a "_" at the end."""
LAYERS = {"linear": -1, "conv1d": -2, "conv2d": -3, "conv3d": -4}
"""Function → the axis of its units, from the end."""
NORMS = {
    "layer_norm": "layer", "group_norm": "layer", "instance_norm": "layer", "batch_norm": "batch", "rms_norm": "rms",
}  # fmt: skip
MOVED = {
    "view", "reshape", "flatten", "unflatten", "permute", "transpose", "movedim", "moveaxis", "swapaxes", "t",
    "squeeze", "unsqueeze", "expand", "expand_as", "view_as", "reshape_as", "chunk", "split", "unbind", "cat",
    "concat", "concatenate", "stack", "__getitem__", "narrow", "select", "index_select", "repeat", "tile", "flip",
    "roll", "ravel", "__get__",
}  # fmt: skip
"""Functions that move values without changing them."""
KEPT = {
    "clone", "detach", "to", "type", "float", "double", "half", "bfloat16", "type_as", "requires_grad_", "alias", "cpu",
    "cuda", "contiguous", "square", "square_", "abs", "abs_", "pow", "__pow__", "sqrt", "exp", "erf",
    "dropout", "dropout_", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_dropout",
    "feature_alpha_dropout", "neg", "__neg__", "positive", "nan_to_num", "masked_fill", "masked_fill_",
}  # fmt: skip
"""Functions of single values that are no activation, or follow one."""
POOLED = {
    "max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d",
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "interpolate", "lp_pool2d", "upsample", "max_pool2d_with_indices",
}  # fmt: skip
"""Functions of a map that leave the number and the order of its channels."""
REDUCED = {"mean", "sum", "amax", "amin", "max", "min", "logsumexp"}
SUMS = {
    "add", "add_", "__add__", "__radd__", "__iadd__", "sub", "sub_", "__sub__", "__rsub__", "__isub__", "rsub",
    "subtract", "lerp",
}  # fmt: skip
PRODUCTS = {
    "mul", "mul_", "__mul__", "__rmul__", "__imul__", "multiply", "div", "div_", "__truediv__", "__itruediv__",
    "divide", "true_divide",
}  # fmt: skip
UNREAD = {
    "size", "dim", "numel", "stride", "is_contiguous", "__len__", "is_floating_point", "is_complex", "get_device",
    "element_size", "data_ptr", "ndimension", "nelement", "__hash__", "__repr__", "__format__", "is_nested",
    "zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "new_zeros", "new_ones",
    "new_full", "new_empty", "new_tensor",
}  # fmt: skip
"""Questions about a tensor that read no value."""


def name_of(function: object) -> str:
    """The function's name, as listed here."""
    name = getattr(function, "__name__", "")
    return {"_max_pool2d": "max_pool2d", "_max_pool1d": "max_pool1d", "_max_pool3d": "max_pool3d"}.get(name, name)


SEVERAL = SUMS | PRODUCTS
"""Functions of several tensors."""
RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}
CELLS = {"lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"}
"""Recurrent functions: each reads the values of its first argument by matrices (see `reading`)."""
CONVOLUTION = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
ORDER = {
    "linear": ("input", "weight", "bias"),
    "conv1d": CONVOLUTION,
    "conv2d": CONVOLUTION,
    "conv3d": CONVOLUTION,
    "batch_norm": ("input", "running_mean", "running_var", "weight", "bias"),
    "instance_norm": ("input", "running_mean", "running_var", "weight", "bias"),
    "layer_norm": ("input", "normalized_shape", "weight", "bias"),
    "rms_norm": ("input", "normalized_shape", "weight"),
    "group_norm": ("input", "num_groups", "weight", "bias"),
}
"""The order of the arguments of layers and normalisations."""


def order(name: str, function: Any) -> tuple[str, ...]:
    """The names of a function's first arguments; torch.batch_norm has another order than the one in functional."""
    if function in (torch.batch_norm, torch.instance_norm):
        return "input", "weight", "bias", "running_mean", "running_var"
    return ORDER[name]


def weight_of(name: str, function: Any, args: Sequence[Any], given: Mapping[str, Any]) -> int:
    """The id of a layer's weight; 0 if it is no parameter."""
    weight = (dict(zip(order(name, function), args, strict=False)) | dict(given))["weight"]
    return id(weight) if isinstance(weight, nn.Parameter) else 0


def reading(name: str, args: Sequence[Any]) -> list[Any]:
    """The weights (O, I) that a recurrent function multiplies with its input; [] for any other function."""
    if name in CELLS:
        return [args[2]]
    if name not in RECURRENT or not isinstance(args[2], list):  # other arguments for packed sequences
        return []
    weights, layers, both = args[2], args[4], args[7]
    ways = 2 if both else 1
    return [weights[way * len(weights) // (layers * ways)] for way in range(ways)]


def is_activation(name: str, args: Sequence[Any], given: Mapping[str, Any]) -> bool:
    """Whether a call is an activation; a clamp is one if a bound is 0."""
    name = name if name.startswith("_") else name.removesuffix("_")
    if name not in CLAMPS:
        return name in ACTIVATIONS
    bounds = (*args[1:], *given.values())
    return any(isinstance(each, int | float) and each == 0 for each in bounds)
