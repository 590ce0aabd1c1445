"""The step of Adam for linear layers of each run of a pack, in Triton: imported only if there is a GPU.

The gradient of a tile of weights stays in registers, and Adam updates the tile from there. It is neither written nor
read: 8 of 36 bytes a parameter. The bits equal the bits of `triton_kernels.product`, followed by `Adam.composed`: the
products have the same tiles in the same order, and each operation of Adam is rounded.

Legend: K runs, B examples, I inputs, O outputs.
"""

import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]
from torch import Tensor

from plasticity_lab.kernels.triton_kernels import FUSED, PRECISION, tile_of

NUMBERS = tl.constexpr(7)
"""Numbers of a run: see `Adam.kernel_numbers`."""


@triton.jit
def _adam_of_product(
    x_ptr, delta_ptr, numbers_ptr, weight_ptr, bias_ptr, weight1_ptr, bias1_ptr, weight2_ptr, bias2_ptr,
    x_K, x_B, x_I, delta_K, delta_B, delta_O,
    EXAMPLES: tl.constexpr, INPUTS: tl.constexpr, OUTPUTS: tl.constexpr, ROUNDED: tl.constexpr,
    PRECISION: tl.constexpr, BI: tl.constexpr, BO: tl.constexpr, BB: tl.constexpr,
):  # fmt: skip
    across: tl.constexpr = tl.cdiv(OUTPUTS, BO)
    tile = tl.program_id(0) // across
    columns = (tl.program_id(0) % across) * BO + tl.arange(0, BO)
    run = tl.program_id(1).to(tl.int64)
    delta_ptr += run * delta_K
    numbers_ptr += run * NUMBERS
    if tile * BI < INPUTS:
        of_run = run * (INPUTS * OUTPUTS)
        _tile_of_weights(
            x_ptr + run * x_K, delta_ptr, numbers_ptr, weight_ptr + of_run, weight1_ptr + of_run, weight2_ptr + of_run,
            tile * BI + tl.arange(0, BI), columns, x_B, x_I, delta_B, delta_O,
            EXAMPLES, INPUTS, OUTPUTS, ROUNDED, PRECISION, BI, BO, BB,
        )  # fmt: skip
    else:
        of_run = run * OUTPUTS
        _tile_of_biases(
            delta_ptr, numbers_ptr, bias_ptr + of_run, bias1_ptr + of_run, bias2_ptr + of_run, columns,
            delta_B, delta_O, EXAMPLES, OUTPUTS, ROUNDED, PRECISION, BO, BB,
        )  # fmt: skip


@triton.jit
def _tile_of_weights(
    x_ptr, delta_ptr, numbers_ptr, weight_ptr, weight1_ptr, weight2_ptr, rows, columns, x_B, x_I, delta_B, delta_O,
    EXAMPLES: tl.constexpr, INPUTS: tl.constexpr, OUTPUTS: tl.constexpr, ROUNDED: tl.constexpr,
    PRECISION: tl.constexpr, BI: tl.constexpr, BO: tl.constexpr, BB: tl.constexpr,
):  # fmt: skip
    total = tl.zeros((BI, BO), dtype=tl.float32)
    for at in range(0, EXAMPLES, BB):
        examples = at + tl.arange(0, BB)
        x = tl.load(
            x_ptr + rows[:, None].to(tl.int64) * x_I + examples[None, :].to(tl.int64) * x_B,
            mask=(rows[:, None] < INPUTS) & (examples[None, :] < EXAMPLES),
            other=0.0,
        )
        delta = _rows_of(delta_ptr, examples, columns, delta_B, delta_O, EXAMPLES, OUTPUTS)
        total = tl.dot(x, delta, total, input_precision=PRECISION)
    place = rows[:, None] * OUTPUTS + columns[None, :]
    there = (rows[:, None] < INPUTS) & (columns[None, :] < OUTPUTS)
    _step(total, weight_ptr + place, weight1_ptr + place, weight2_ptr + place, numbers_ptr, there, ROUNDED)


@triton.jit
def _tile_of_biases(
    delta_ptr, numbers_ptr, bias_ptr, bias1_ptr, bias2_ptr, columns, delta_B, delta_O,
    EXAMPLES: tl.constexpr, OUTPUTS: tl.constexpr, ROUNDED: tl.constexpr,
    PRECISION: tl.constexpr, BO: tl.constexpr, BB: tl.constexpr,
):  # fmt: skip
    """The gradient is one row: ones times delta."""
    row = tl.arange(0, 16)
    total = tl.zeros((16, BO), dtype=tl.float32)
    for at in range(0, EXAMPLES, BB):
        examples = at + tl.arange(0, BB)
        ones = tl.where((row[:, None] == 0) & (examples[None, :] < EXAMPLES), 1.0, 0.0)
        delta = _rows_of(delta_ptr, examples, columns, delta_B, delta_O, EXAMPLES, OUTPUTS)
        total = tl.dot(ones, delta, total, input_precision=PRECISION)
    place = row[:, None] * OUTPUTS + columns[None, :]
    there = (row[:, None] == 0) & (columns[None, :] < OUTPUTS)
    _step(total, bias_ptr + place, bias1_ptr + place, bias2_ptr + place, numbers_ptr, there, ROUNDED)


@triton.jit
def _rows_of(delta_ptr, examples, columns, delta_B, delta_O, EXAMPLES: tl.constexpr, OUTPUTS: tl.constexpr):
    return tl.load(
        delta_ptr + examples[:, None].to(tl.int64) * delta_B + columns[None, :].to(tl.int64) * delta_O,
        mask=(examples[:, None] < EXAMPLES) & (columns[None, :] < OUTPUTS),
        other=0.0,
    )


@triton.jit
def _step(gradient, parameter_ptr, first_ptr, second_ptr, numbers_ptr, there, ROUNDED: tl.constexpr):
    """A step for a tile of parameters, as in `Adam.composed`.  ROUNDED: division as in eager mode, otherwise as in
    graphs of torch's compiler.
    """
    take1, take2, beta2 = tl.load(numbers_ptr), tl.load(numbers_ptr + 1), tl.load(numbers_ptr + 2)
    epsilon, size = tl.load(numbers_ptr + 3), tl.load(numbers_ptr + 4)
    correction, kept = tl.load(numbers_ptr + 5), tl.load(numbers_ptr + 6)
    first = tl.load(first_ptr, mask=there, other=0.0)
    second = tl.load(second_ptr, mask=there, other=0.0)
    parameter = tl.load(parameter_ptr, mask=there, other=0.0)
    first += (gradient - first) * take1
    second = second * beta2 + gradient * gradient * take2
    root = tl.sqrt_rn(second) * correction + epsilon
    if ROUNDED:
        change = tl.div_rn(size * first, root)
    else:
        change = size * first / root
    tl.store(first_ptr, first, mask=there)
    tl.store(second_ptr, second, mask=there)
    tl.store(parameter_ptr, parameter * kept - change, mask=there)


def adam_of_product(x: Tensor, delta: Tensor, numbers: Tensor, parts: list[Tensor], rounded: bool) -> None:
    """One step in place by the gradients of a layer, xᵀ · delta and the sum of delta.

    x (K, B, I), delta (K, B, O), numbers (K, 7). parts: weight (K, I, O) and bias (K, 1, O), then the first moments of
        both, then the second moments.
    rounded: whether the division is exactly rounded, as in eager mode.
    """
    runs, examples, inputs = x.shape
    outputs = delta.shape[2]
    high, wide, deep = tile_of(inputs, outputs, examples)
    grid = (triton.cdiv(inputs, high) + 1) * triton.cdiv(outputs, wide), runs
    dense = [part.contiguous() for part in parts]
    _adam_of_product[grid](  # pyright: ignore[reportIndexIssue]
        x, delta, numbers.contiguous(), *dense, *x.stride(), *delta.stride(),
        EXAMPLES=examples, INPUTS=inputs, OUTPUTS=outputs, ROUNDED=rounded,
        PRECISION=PRECISION, BI=high, BO=wide, BB=deep,
        enable_fp_fusion=FUSED,
    )  # fmt: skip
    for part, own in zip(parts, dense, strict=True):
        if own is not part:
            part.copy_(own)
