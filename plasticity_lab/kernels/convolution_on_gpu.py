"""Convolutions for each run of a pack, in Triton: this module is imported where there is a GPU.

Patches are never laid out: a program reads the numbers of its own from the images. A run's sums are taken in an order
that depends on the shapes of its own images alone, as those of `product_on_gpu` are.

Legend: K runs, B examples, C input channels, H, W rows and columns, O output channels, P numbers of a patch, C·kernel²;
M places of all examples where the kernel lies, S parts of them.
"""

import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]
from torch import Tensor

from plasticity_lab.kernels.product_on_gpu import PRECISION, product, side

PLACES = 2048
"""A gradient's sums over so many places are taken side by side, and added up in their order."""


@triton.jit
def _convolution(
    x_ptr, weight_ptr, bias_ptr, h_ptr, M, outputs,
    x_K, x_B, x_C, x_H, x_W, weight_K, weight_P, weight_O, bias_K, bias_O,
    P: tl.constexpr, SIDE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, BIASED: tl.constexpr,
    PRECISION: tl.constexpr, BO: tl.constexpr, BM: tl.constexpr, BP: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(outputs, BO)
    channels = (tl.program_id(0) % across) * BO + tl.arange(0, BO)
    places = (tl.program_id(0) // across) * BM + tl.arange(0, BM)
    run = tl.program_id(1).to(tl.int64)
    x_ptr += run * x_K
    weight_ptr += run * weight_K
    m = tl.where(places < M, places, 0)  # what is beyond them is computed and not stored
    example, place = m // (ROWS * COLUMNS), m % (ROWS * COLUMNS)
    here = example * x_B + place // COLUMNS * x_H + place % COLUMNS * x_W
    total = tl.zeros((BO, BM), dtype=tl.float32)
    if BIASED:
        bias = tl.load(bias_ptr + run * bias_K + channels * bias_O, mask=channels < outputs, other=0.0)
        total += bias[:, None]
    for at in range(0, P, BP):
        p = at + tl.arange(0, BP)
        away = p // (SIDE * SIDE) * x_C + p % (SIDE * SIDE) // SIDE * x_H + p % SIDE * x_W
        x = tl.load(x_ptr + (away[:, None] + here[None, :]), mask=(p < P)[:, None], other=0.0)
        weight = tl.load(
            weight_ptr + (channels[:, None] * weight_O + p[None, :] * weight_P),
            mask=(channels[:, None] < outputs) & (p[None, :] < P),
            other=0.0,
        )
        total = tl.dot(weight, x, total, input_precision=PRECISION)
    there = (example * outputs)[None, :] * (ROWS * COLUMNS) + (channels * (ROWS * COLUMNS))[:, None] + place[None, :]
    tl.store(h_ptr + run * M * outputs + there, total, mask=(channels[:, None] < outputs) & (places[None, :] < M))


@triton.jit
def _gradients(
    x_ptr, delta_ptr, found_ptr, M, outputs,
    x_K, x_B, x_C, x_H, x_W, delta_K, delta_B, delta_O, delta_H, delta_W,
    P: tl.constexpr, SIDE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, TAKEN: tl.constexpr,
    PRECISION: tl.constexpr, BO: tl.constexpr, BM: tl.constexpr, BP: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(outputs, BO)
    tile, part, parts = tl.program_id(0) // across, tl.program_id(2), tl.num_programs(2)
    channels = (tl.program_id(0) % across) * BO + tl.arange(0, BO)
    p = tile * BP + tl.arange(0, BP)
    run = tl.program_id(1).to(tl.int64)
    x_ptr += run * x_K
    delta_ptr += run * delta_K
    away = p // (SIDE * SIDE) * x_C + p % (SIDE * SIDE) // SIDE * x_H + p % SIDE * x_W
    away = tl.where(p < P, away, 0)  # what is beyond them is computed and not stored
    delta_ptr += channels[None, :] * delta_O
    total = tl.zeros((BO, BP), dtype=tl.float32)
    for at in range(0, TAKEN, BM):
        places = part * TAKEN + at + tl.arange(0, BM)
        there = (channels[None, :] < outputs) & (places[:, None] < M)
        m = tl.where(places < M, places, 0)  # what is beyond them is multiplied by zeros
        # Places lie next to each other in memory, and threads read along a tile's first axis where nothing tells Triton
        # which one that is.
        x = tl.load(x_ptr + (_offsets(m, x_B, x_H, x_W, ROWS, COLUMNS)[:, None] + away[None, :]))
        delta = tl.load(
            delta_ptr + _offsets(m, delta_B, delta_H, delta_W, ROWS, COLUMNS)[:, None], mask=there, other=0.0
        )
        total = tl.dot(tl.trans(delta), x, total, input_precision=PRECISION)
    found_ptr += (run * parts + part) * (P + 1) * outputs
    tl.store(
        found_ptr + (p[None, :] * outputs + channels[:, None]),
        total,
        mask=(p[None, :] < P) & (channels[:, None] < outputs),
    )
    if tile == 0:
        # They are read again: what is used beside a product goes to it by way of registers.
        deltas = tl.zeros((BM, BO), dtype=tl.float32)
        for at in range(0, TAKEN, BM):
            places = part * TAKEN + at + tl.arange(0, BM)
            there = (channels[None, :] < outputs) & (places[:, None] < M)
            offsets = _offsets(places, delta_B, delta_H, delta_W, ROWS, COLUMNS)
            deltas += tl.load(delta_ptr + offsets[:, None], mask=there, other=0.0)
        tl.store(found_ptr + P * outputs + channels, tl.sum(deltas, axis=0), mask=channels < outputs)


@triton.jit
def _offsets(places, of_B, of_H, of_W, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    example, row, column = places // (ROWS * COLUMNS), places % (ROWS * COLUMNS) // COLUMNS, places % COLUMNS
    return example * of_B + row * of_H + column * of_W


def convolution(x: Tensor, weight: Tensor, bias: Tensor | None, kernel: int) -> Tensor:
    """x (K, B, C, H, W) by weight (K, P, O), plus bias (K, 1, O) → (K, B, O, H − kernel + 1, W − kernel + 1)."""
    (runs, examples, _, height, width), (patch, outputs) = x.shape, weight.shape[1:]
    h = x.new_empty(runs, examples, outputs, height - kernel + 1, width - kernel + 1)
    places, tile = examples * h[0, 0, 0].numel(), side(outputs, 32)
    of_bias = (0, 0) if bias is None else (bias.stride(0), bias.stride(2))
    grid = triton.cdiv(outputs, tile) * triton.cdiv(places, 128), runs
    _convolution[grid](  # pyright: ignore[reportIndexIssue]
        x, weight, bias, h, places, outputs, *x.stride(), *weight.stride(), *of_bias,
        P=patch, SIDE=kernel, ROWS=h.shape[3], COLUMNS=h.shape[4], BIASED=bias is not None,
        PRECISION=PRECISION, BO=tile, BM=128, BP=16,
    )  # fmt: skip
    return h


def gradients(x: Tensor, delta: Tensor, kernel: int) -> Tensor:
    """x (K, B, C, H, W) and delta (K, B, O, H − kernel + 1, W − kernel + 1) → (K, P + 1, O): of weight and bias."""
    runs, examples, outputs, rows, columns = delta.shape
    patch, places = x.shape[2] * kernel**2, examples * rows * columns
    parts = triton.cdiv(places, PLACES)
    found = x.new_empty(runs, parts, patch + 1, outputs)
    tile = side(outputs, 32), side(patch, 64)
    grid = triton.cdiv(patch, tile[1]) * triton.cdiv(outputs, tile[0]), runs, parts
    _gradients[grid](  # pyright: ignore[reportIndexIssue]
        x, delta, found, places, outputs, *x.stride(), *delta.stride(),
        P=patch, SIDE=kernel, ROWS=rows, COLUMNS=columns, TAKEN=PLACES,
        PRECISION=PRECISION, BO=tile[0], BM=64, BP=tile[1],
    )  # fmt: skip
    if parts == 1:
        return found[:, 0]
    ones = x.new_ones(1, 1, 1).expand(runs, 1, parts)
    return product(ones, found.flatten(2), None).view(runs, patch + 1, outputs)
