"""The operators of our kernels as torch knows them, and their parts of the C++.

A part is compiled when the first of its operators is traced or called, unless `build.expect` has begun before.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.library import Library, fallthrough_kernel

from plasticity_lab.kernels import build

SPACE = "plasticity_lab"
ANY_LAYOUT = torch.Tag.flexible_layout
"""torch.compile may choose the layout of inputs. It lays out a tensor once for several operators. An operator copies an
input that is not in one piece, so this tag is for operators with contiguous inputs."""
SAME_LAYOUT = torch.Tag.needs_fixed_stride_order
"""Inputs are laid out as in eager mode: images with their channels last, by the loops that compute them."""
OF_STACK = (
    "(Tensor images, Tensor brightness, Tensor at, Tensor labels, Tensor weights, Tensor numbers, "
    "int function, Tensor settings, Tensor key, Tensor position, int[] widths, Tensor(a!)[] parameters, "
    "Tensor(b!) losses, Tensor(c!) right, "
    "Tensor pulls, Tensor[] starts, Tensor bounds, int first, int count) -> ()"
)
"""Many steps of a stack of layers: see kernels/stack.h."""
STACKS = "stack_adam", "stack_adam_held", "stack_sgd", "stack_sgd_held"
RANDOM_NUMBERS = "random_numbers"
PARTS: dict[str, dict[str, torch.Tag]] = {
    "linear": {"linear(Tensor x, Tensor weight, Tensor bias) -> Tensor": SAME_LAYOUT},
    "linear_gradients": {
        "linear_input(Tensor delta, Tensor weight) -> Tensor": SAME_LAYOUT,
        "linear_weight(Tensor x, Tensor delta) -> (Tensor, Tensor)": SAME_LAYOUT,
    },
    "linear_adam": {
        "linear_adam(Tensor x, Tensor delta, Tensor numbers, Tensor(a!) weight, Tensor(b!) bias, Tensor(c!) weight1, "
        "Tensor(d!) bias1, Tensor(e!) weight2, Tensor(f!) bias2) -> ()": ANY_LAYOUT,
    },
    "linear_sgd": {
        "linear_sgd(Tensor x, Tensor delta, Tensor numbers, Tensor(a!) weight, Tensor(b!) bias, Tensor(c!) weight1, "
        "Tensor(d!) bias1) -> ()": ANY_LAYOUT,
    },
    "steps": {
        "adam(Tensor numbers, Tensor[] gradients, Tensor(a!)[] parameters, Tensor(b!)[] first, Tensor(c!)[] second)"
        " -> ()": ANY_LAYOUT,
        "follow(Tensor tau, Tensor[] online, Tensor(a!)[] target) -> ()": ANY_LAYOUT,
        "table(Tensor[] numbers) -> Tensor": ANY_LAYOUT,
    },
    **{part: {f"{part}{OF_STACK}": ANY_LAYOUT} for part in STACKS},
    "stack_right": {
        "stack_right(Tensor images, Tensor brightness, Tensor labels, int function, Tensor settings, int[] widths, "
        "Tensor[] parameters, Tensor(a!) found) -> ()": ANY_LAYOUT,
    },
    "conv": {
        "conv(Tensor x, Tensor weight, Tensor bias, int kernel, int margin) -> Tensor": SAME_LAYOUT,
        "conv_input(Tensor delta, Tensor weight, int kernel, int margin) -> Tensor": SAME_LAYOUT,
        "conv_weight(Tensor x, Tensor delta, int kernel, int margin) -> (Tensor, Tensor)": SAME_LAYOUT,
    },
    "pool": {
        "pool(Tensor x, int size, int stride, int above, int left, int high, int wide)"
        " -> (Tensor, Tensor)": SAME_LAYOUT,
        "pool_input(Tensor delta, Tensor where, int size, int stride, int above, int left, int rows, int columns)"
        " -> Tensor": SAME_LAYOUT,
    },
    "softmax": {
        "softmax(Tensor x, bool of_columns, int there) -> Tensor": SAME_LAYOUT,
        "softmax_input(Tensor delta, Tensor shares, bool of_columns) -> Tensor": SAME_LAYOUT,
    },
    "batch_norm": {
        "batch_norm(Tensor x, Tensor weights, Tensor scale, Tensor shift, float epsilon)"
        " -> (Tensor, Tensor, Tensor)": SAME_LAYOUT,
        "batch_norm_inputs(Tensor delta, Tensor x, Tensor weights, Tensor scale, Tensor mean, Tensor variance, "
        "float epsilon) -> (Tensor, Tensor, Tensor)": SAME_LAYOUT,
    },
    "layer_norm": {
        "layer_norm(Tensor x, Tensor scale, Tensor shift, float epsilon) -> (Tensor, Tensor, Tensor)": SAME_LAYOUT,
        "layer_norm_inputs(Tensor delta, Tensor x, Tensor scale, Tensor mean, Tensor variance, float epsilon)"
        " -> (Tensor, Tensor, Tensor)": SAME_LAYOUT,
    },
    "attention": {
        "attention(Tensor queries, Tensor keys, Tensor values, int tokens, int heads) -> Tensor": SAME_LAYOUT,
        "attention_inputs(Tensor delta, Tensor queries, Tensor keys, Tensor values, int tokens, int heads)"
        " -> (Tensor, Tensor, Tensor)": SAME_LAYOUT,
    },
    "gelu": {"gelu(Tensor x, Tensor beta) -> (Tensor, Tensor)": SAME_LAYOUT},
    RANDOM_NUMBERS: {
        "uniforms(Tensor keys, Tensor step, int numbers) -> Tensor": SAME_LAYOUT,
        "normals(Tensor uniform) -> Tensor": SAME_LAYOUT,
        "noise_factors(Tensor uniform, int rows, int numbers) -> Tensor": SAME_LAYOUT,
    },
    "log_softmax": {
        "log_softmax(Tensor x) -> Tensor": SAME_LAYOUT,
        "log_softmax_input(Tensor delta, Tensor x) -> Tensor": SAME_LAYOUT,
        "log_softmax_at(Tensor x, Tensor index) -> Tensor": SAME_LAYOUT,
        "log_softmax_at_input(Tensor delta, Tensor x, Tensor index) -> Tensor": SAME_LAYOUT,
        "exact_sums(Tensor x) -> Tensor": SAME_LAYOUT,
        "projected(Tensor probabilities, Tensor atoms, Tensor support, Tensor returns, Tensor discount)"
        " -> Tensor": SAME_LAYOUT,
    },
    "replay": {
        "priorities_drawn(Tensor keys, Tensor values, Tensor sums, Tensor(a!) places) -> ()": ANY_LAYOUT,
        "priorities_put(Tensor places, Tensor priorities, Tensor(a!) values, Tensor(b!) sums) -> ()": ANY_LAYOUT,
        "uniform_drawn(Tensor keys, Tensor first, Tensor terminated, Tensor truncated, Tensor life_lost, "
        "bool life_ends, int oldest, int end, int n_step, int stack, Tensor(a!) numbers, Tensor(b!) usable)"
        " -> ()": ANY_LAYOUT,
        "stacked(Tensor frames, Tensor first, Tensor steps, Tensor environments, int stack, Tensor(a!) to)"
        " -> ()": ANY_LAYOUT,
        "gathered(Tensor addresses, Tensor at, Tensor(a!) to) -> ()": ANY_LAYOUT,
        "returns(Tensor rewards, Tensor terminated, Tensor life_lost, bool life_ends, Tensor steps, "
        "Tensor environments, Tensor gammas, int n_step, Tensor(a!) sums, Tensor(b!) discounts, Tensor(c!) following)"
        " -> ()": ANY_LAYOUT,
    },
    "pixels": {"reordered(Tensor images, Tensor order, Tensor(a!) to) -> ()": ANY_LAYOUT},
}
"""Part, a .cpp file of this folder → the schemas of its operators. `Optimizer.kernel` names a part and its operator."""

_called_in_graphs = _recording = False


@cache
def define() -> Library:
    """Tells torch of all operators, once in a process; compiles nothing."""
    library = Library(SPACE, "FRAGMENT")
    for part, schemas in PARTS.items():
        for schema, layout in schemas.items():
            name = schema.partition("(")[0]
            library.define(schema, tags=(layout,))
            # The compiled operator is registered for the CPU, and goes before this one from then on.
            library.impl(name, _loading(part, name), "CompositeExplicitAutograd")
            library.impl(name, fallthrough_kernel, "Autograd")  # gradients are declared by the functions that call it
    return library


def are_defined() -> bool:
    """Whether this process uses kernels."""
    return define.cache_info().currsize > 0


def call_in_graphs() -> None:
    """From now on, new graphs for a CPU call these operators: the process has a pack in kernel mode."""
    global _called_in_graphs
    _called_in_graphs = True


def are_called_in_graphs() -> bool:
    """Whether new graphs for a CPU call these operators."""
    return _called_in_graphs


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """While this lasts, operations are recorded for a graph, which may call these operators."""
    global _recording
    before, _recording = _recording, True
    try:
        yield
    finally:
        _recording = before


def serve(x: torch.Tensor) -> bool:
    """Whether operations on x are being recorded for a graph that calls these operators.

    Dynamo does not trace into their gradients, so its graphs, such as a user's, do not call them.
    """
    return _recording and _called_in_graphs and x.device.type == "cpu"


def reordered(images_ND: NDArray[np.uint8], order_D: NDArray[np.int64], to_ND: NDArray[np.uint8]) -> None:
    """to[n, d] = images[n, order[d]] for N images of D pixels: by our kernel if this process uses kernels, or by NumPy.

    All arrays are contiguous and writable.
    """
    if are_defined():
        torch.ops.plasticity_lab.reordered(*map(torch.from_numpy, (images_ND, order_D, to_ND)))
    else:  # With a mode, NumPy writes in place without a copy. No index is out of range.
        np.take(images_ND, order_D, axis=1, out=to_ND, mode="clip")


def _loading(part: str, name: str) -> Callable[..., Any]:
    """The operator until its part is loaded: it loads it, and calls the compiled one."""

    def operator(*arguments: Any) -> Any:
        if any(isinstance(each, torch.Tensor) and each.device.type != "cpu" for each in arguments):
            raise NotImplementedError(f"{SPACE}::{name} is for tensors on a CPU")  # which would be met here again
        build.load(part)
        return getattr(getattr(torch.ops, SPACE), name)(*arguments)

    return operator
