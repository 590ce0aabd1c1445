"""The shapes of the results of our CPU kernels, which torch asks for while it traces a graph."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.kernels import build, operators


def _linear_weight(x: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
    runs, inputs, outputs = x.shape[0], x.shape[2], delta.shape[2]
    return x.new_empty(runs, inputs, outputs), x.new_empty(runs, 1, outputs)


def _conv(x: Tensor, weight: Tensor, bias: Tensor, kernel: int, margin: int) -> Tensor:
    return x.new_empty(*x.shape[:2], *(side + 2 * margin - kernel + 1 for side in x.shape[2:4]), weight.shape[2])


def _conv_input(delta: Tensor, weight: Tensor, kernel: int, margin: int) -> Tensor:
    image = (side + kernel - 1 - 2 * margin for side in delta.shape[2:4])
    return delta.new_empty(*delta.shape[:2], *image, weight.shape[1] // kernel**2)


def _conv_weight(x: Tensor, delta: Tensor, kernel: int, margin: int) -> tuple[Tensor, Tensor]:
    runs, outputs = len(x), delta.shape[4]
    return x.new_empty(runs, x.shape[4] * kernel**2, outputs), x.new_empty(runs, 1, outputs)


def _batch_norm(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    of_channels = x.shape[0], 1, x.shape[2]
    return torch.empty_like(x), x.new_empty(of_channels), x.new_empty(of_channels)


def _layer_norm(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    of_rows = *x.shape[:2], 1
    return torch.empty_like(x), x.new_empty(of_rows), x.new_empty(of_rows)


def _pool(x: Tensor, size: int, stride: int, above: int, left: int, high: int, wide: int) -> tuple[Tensor, Tensor]:
    shape = x.shape[0], high, wide, x.shape[3]
    return x.new_empty(shape), x.new_empty(shape)


RESULTS: dict[str, Callable[..., Any]] = {
    "linear": lambda x, weight, bias: x.new_empty(weight.shape[0], x.shape[1], weight.shape[2]),
    "linear_input": lambda delta, weight: delta.new_empty(*delta.shape[:2], weight.shape[1]),
    "linear_weight": _linear_weight,
    "linear_adam": lambda *_: None,
    "linear_sgd": lambda *_: None,
    "adam": lambda *_: None,
    "follow": lambda *_: None,
    "table": lambda numbers: numbers[0].new_empty(len(numbers[0]), len(numbers), dtype=torch.float32),
    "conv": _conv,
    "conv_input": _conv_input,
    "conv_weight": _conv_weight,
    "pool": _pool,
    "pool_input": lambda delta, *windows: delta.new_empty(delta.shape[0], *windows[-2:], delta.shape[3]),
    "softmax": lambda x, of_columns, there: torch.empty_like(x),
    "batch_norm": lambda x, weights, scale, shift, epsilon: _batch_norm(x),
    "batch_norm_inputs": lambda delta, x, *_: _batch_norm(x),
    "layer_norm": lambda x, *_: _layer_norm(x),
    "layer_norm_inputs": lambda delta, x, *_: _batch_norm(x),
    "attention": lambda queries, *_: torch.empty_like(queries),
    "attention_inputs": lambda delta, *tables: tuple(map(torch.empty_like, tables[:3])),
    "gelu": lambda x, _: (torch.empty_like(x), torch.empty_like(x)),
    "uniforms": lambda keys, step, numbers: keys.new_empty(len(keys), numbers, dtype=torch.float32),
    "normals": lambda uniform: uniform.new_empty(uniform.shape),
    "noise_factors": lambda uniform, rows, numbers: uniform.new_empty(len(uniform), rows, numbers),
    "softmax_input": lambda delta, shares, of_columns: torch.empty_like(shares),
    "log_softmax": lambda x: x.new_empty(x.shape),
    "log_softmax_input": lambda delta, x: x.new_empty(x.shape),
    "log_softmax_at": lambda x, index: x.new_empty(index.shape),
    "log_softmax_at_input": lambda delta, x, index: x.new_empty(x.shape),
    "exact_sums": lambda x: x.new_empty(x.shape[:-1]),
    "projected": lambda of, atoms, support, returns, discount: returns.new_empty(*returns.shape, support.shape[1]),
}
"""Operator → a function with the operator's arguments that returns empty tensors of the shapes of its results."""


def tell_shapes() -> None:
    """Tells torch the shapes of the operators' results; once, when they are defined.

    Torch asks while it traces a graph, and the parts of these operators are compiled at the same time.
    """
    for part, schemas in operators.PARTS.items():
        begin = cache(partial(build.expect, [part]))
        for name in {schema.partition("(")[0] for schema in schemas} & RESULTS.keys():
            torch.library.register_fake(f"plasticity_lab::{name}", partial(_asked, begin, RESULTS[name]))


def _asked(begin: Callable[[], None], result: Callable[..., Any], *arguments: Any) -> Any:
    begin()
    return result(*arguments)
