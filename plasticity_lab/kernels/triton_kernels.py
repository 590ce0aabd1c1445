"""Products of matrices and convolutions of each run of a pack, in Triton: imported only if there is a GPU.

The order of a run's sums depends on the shapes of its own matrices and images alone, so its bits do not depend on the
pack; cuBLAS chooses its routine by the number of matrices too. Convolutions make no tensor of patches: a program reads
its numbers from the images. If the numbers of a row are adjacent in memory, Triton is told so of all places, which is
false at the ends of rows: otherwise it lets threads run along the first axis of a tile (3.6) or along the last one (3.7
and later). Vectors do not cross the end of a row, since Triton also knows the number of columns.

Legend: K runs, (M, R) times (R, N), S parts of R; B examples, C input channels, H, W rows and columns, O output
channels, P numbers of a patch, C·kernel²; in convolutions M places of the kernel in all examples, S parts of them.
"""

from collections.abc import Iterable
from itertools import repeat

import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]
from torch import Tensor

PART = 1024
"""If R is at least twice this number, parts of this many products are summed in parallel, then added one by one."""
PRECISION = "tf32x3"
"""Each number is split into two of 11 bits, and the GPU's tensor cores compute three of their four products. On an H200
the results were closer to float64's than with single products: an error of 1.6e-7 of the whole, compared with 5.1e-7,
at 784 products a sum. They were up to twice as fast."""
FUSED = False
"""Whether Triton may add a product without rounding it. Only the step of Adam has such products; but Triton 3.9 warns
if this is not said.
"""
PLACES = 2048
"""Parts of a gradient over this many places are summed in parallel, then added one by one."""
MOST_RUNS = 2**16 - 1
"""The most runs of a launch: CUDA's limit of a grid's second side. In attention each head of an example is a run."""


@triton.jit
def _product(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, R,
    a_K, a_M, a_R, b_K, b_R, b_N, bias_K, bias_N, c_K, c_S,
    TAKEN: tl.constexpr, BIASED: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(N, BN)
    rows = (tl.program_id(0) // across) * BM + tl.arange(0, BM)
    columns = (tl.program_id(0) % across) * BN + tl.arange(0, BN)
    run, first = tl.program_id(1).to(tl.int64), tl.program_id(2) * TAKEN
    a_ptr += run * a_K
    b_ptr += run * b_K
    total = tl.zeros((BM, BN), dtype=tl.float32)
    if BIASED:
        bias = tl.load(bias_ptr + run * bias_K + columns * bias_N, mask=columns < N, other=0.0)
        total += bias[None, :]
    for at in range(0, TAKEN, BR):
        there = first + at + tl.arange(0, BR)
        a = tl.load(
            a_ptr + rows[:, None].to(tl.int64) * a_M + there[None, :].to(tl.int64) * a_R,
            mask=(rows[:, None] < M) & (there[None, :] < R),
            other=0.0,
        )
        b = tl.load(
            b_ptr + there[:, None].to(tl.int64) * b_R + columns[None, :].to(tl.int64) * b_N,
            mask=(there[:, None] < R) & (columns[None, :] < N),
            other=0.0,
        )
        total = tl.dot(a, b, total, input_precision=PRECISION)
    place = run * c_K + tl.program_id(2).to(tl.int64) * c_S + rows[:, None].to(tl.int64) * N + columns[None, :]
    tl.store(c_ptr + place, total, mask=(rows[:, None] < M) & (columns[None, :] < N))


def product(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
    """a (K, M, R) times b (K, R, N), plus bias (K, 1, N) → (K, M, N), float32."""
    (runs, height, inner), width = a.shape, b.shape[2]
    parts = -(-inner // PART) if inner >= 2 * PART else 1
    found = a.new_empty(runs, parts, height, width)
    if not found.numel():
        return found[:, 0]
    tile = tile_of(height, width, inner)
    tiles = triton.cdiv(height, tile[0]) * triton.cdiv(width, tile[1])
    first_bias = bias if parts == 1 else None
    of_bias = (0, 0) if first_bias is None else (first_bias.stride(0), first_bias.stride(2))
    for own_a, own_b, own_bias, own in _launches(a, b, first_bias, found):
        _product[tiles, len(own), parts](  # pyright: ignore[reportIndexIssue]
            own_a, own_b, own_bias, own, height, width, inner,
            *a.stride(), *b.stride(), *of_bias,
            found.stride(0), found.stride(1), TAKEN=PART if parts > 1 else inner, BIASED=first_bias is not None,
            PRECISION=PRECISION, BM=tile[0], BN=tile[1], BR=tile[2], enable_fp_fusion=FUSED,
        )  # fmt: skip
    if parts == 1:
        return found[:, 0]
    ones = a.new_ones(1, 1, 1).expand(runs, 1, parts)
    total = product(ones, found.flatten(2), None).view(runs, height, width)
    return total if bias is None else total + bias


def _launches(a: Tensor, b: Tensor, bias: Tensor | None, found: Tensor) -> Iterable[tuple]:
    """The runs of each launch: their parts of these tensors."""
    if len(found) <= MOST_RUNS:
        return [(a, b, bias, found)]
    of_bias = repeat(None) if bias is None else bias.split(MOST_RUNS)
    return zip(a.split(MOST_RUNS), b.split(MOST_RUNS), of_bias, found.split(MOST_RUNS), strict=False)


def tile_of(height: int, width: int, inner: int) -> tuple[int, int, int]:
    """A program's rows, columns and products at a time, in a product of matrices of these sides."""
    return side(height, 32), side(width, 64), 16 if inner <= 16 else 32


def side(count: int, most: int) -> int:
    """A side of a tile: a power of 2, at least 16."""
    return min(most, max(16, triton.next_power_of_2(count)))


@triton.jit
def _convolution(
    x_ptr, weight_ptr, bias_ptr, h_ptr, M, outputs,
    x_K, x_B, x_C, x_H, x_W, weight_K, weight_P, weight_O, bias_K, bias_O,
    P: tl.constexpr, SIDE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, BIASED: tl.constexpr,
    X_ADJACENT: tl.constexpr, PRECISION: tl.constexpr, BO: tl.constexpr, BM: tl.constexpr, BP: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(outputs, BO)
    channels = (tl.program_id(0) % across) * BO + tl.arange(0, BO)
    places = (tl.program_id(0) // across) * BM + tl.arange(0, BM)
    run = tl.program_id(1).to(tl.int64)
    x_ptr += run * x_K
    weight_ptr += run * weight_K
    m = tl.where(places < M, places, 0)  # results beyond M are computed and not stored
    example, place = m // (ROWS * COLUMNS), m % (ROWS * COLUMNS)
    here = _offsets(m, x_B, x_H, x_W, ROWS, COLUMNS, X_ADJACENT)
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
    results = example * outputs * (ROWS * COLUMNS) + place
    if ROWS * COLUMNS > 1:
        results = tl.max_contiguous(results, BM)
    there = (channels * (ROWS * COLUMNS))[:, None] + results[None, :]
    tl.store(h_ptr + run * M * outputs + there, total, mask=(channels[:, None] < outputs) & (places[None, :] < M))


@triton.jit
def _gradients(
    x_ptr, delta_ptr, found_ptr, M, outputs,
    x_K, x_B, x_C, x_H, x_W, delta_K, delta_B, delta_O, delta_H, delta_W,
    P: tl.constexpr, SIDE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, TAKEN: tl.constexpr,
    X_ADJACENT: tl.constexpr, DELTA_ADJACENT: tl.constexpr,
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
    away = tl.where(p < P, away, 0)  # results beyond P are computed and not stored
    delta_ptr += channels[None, :] * delta_O
    total = tl.zeros((BO, BP), dtype=tl.float32)
    for at in range(0, TAKEN, BM):
        places = part * TAKEN + at + tl.arange(0, BM)
        there = (channels[None, :] < outputs) & (places[:, None] < M)
        m = tl.where(places < M, places, 0)  # values beyond M are multiplied by zeros
        x = tl.load(x_ptr + (_offsets(m, x_B, x_H, x_W, ROWS, COLUMNS, X_ADJACENT)[:, None] + away[None, :]))
        offsets = _offsets(m, delta_B, delta_H, delta_W, ROWS, COLUMNS, DELTA_ADJACENT)
        delta = tl.load(delta_ptr + offsets[:, None], mask=there, other=0.0)
        total = tl.dot(tl.trans(delta), x, total, input_precision=PRECISION)
    found_ptr += (run * parts + part) * (P + 1) * outputs
    tl.store(
        found_ptr + (p[None, :] * outputs + channels[:, None]),
        total,
        mask=(p[None, :] < P) & (channels[:, None] < outputs),
    )
    if tile == 0:
        # Read again: values used together with a product would pass to it through registers.
        deltas = tl.zeros((BM, BO), dtype=tl.float32)
        for at in range(0, TAKEN, BM):
            places = part * TAKEN + at + tl.arange(0, BM)
            there = (channels[None, :] < outputs) & (places[:, None] < M)
            offsets = _offsets(places, delta_B, delta_H, delta_W, ROWS, COLUMNS, DELTA_ADJACENT)
            deltas += tl.load(delta_ptr + offsets[:, None], mask=there, other=0.0)
        tl.store(found_ptr + P * outputs + channels, tl.sum(deltas, axis=0), mask=channels < outputs)


@triton.jit
def _offsets(places, of_B, of_H, of_W, ROWS: tl.constexpr, COLUMNS: tl.constexpr, ADJACENT: tl.constexpr):
    example, row, column = places // (ROWS * COLUMNS), places % (ROWS * COLUMNS) // COLUMNS, places % COLUMNS
    found = example * of_B + row * of_H + column * of_W
    if ADJACENT:
        found = tl.max_contiguous(found, places.shape[0])
    return found


def adjacent(x: Tensor, columns: int) -> bool:
    """Whether the numbers of a row are next to each other in images (K, B, C, H, W), for that many places in a row.

    Not so, for example, in a gradient that is one number expanded: a vector would read beyond it.
    """
    return x.stride(4) == 1 and columns > 1


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
        X_ADJACENT=adjacent(x, h.shape[4]), PRECISION=PRECISION, BO=tile, BM=128, BP=16, enable_fp_fusion=FUSED,
    )  # fmt: skip
    return h


def gradients(x: Tensor, delta: Tensor, kernel: int) -> Tensor:
    """x (K, B, C, H, W) and delta (K, B, O, H − kernel + 1, W − kernel + 1) → (K, P + 1, O): gradients of weight and
    bias.
    """
    runs, examples, outputs, rows, columns = delta.shape
    patch, places = x.shape[2] * kernel**2, examples * rows * columns
    parts = triton.cdiv(places, PLACES)
    found = x.new_empty(runs, parts, patch + 1, outputs)
    tile = side(outputs, 32), side(patch, 64)
    grid = triton.cdiv(patch, tile[1]) * triton.cdiv(outputs, tile[0]), runs, parts
    _gradients[grid](  # pyright: ignore[reportIndexIssue]
        x, delta, found, places, outputs, *x.stride(), *delta.stride(),
        P=patch, SIDE=kernel, ROWS=rows, COLUMNS=columns, TAKEN=PLACES,
        X_ADJACENT=adjacent(x, columns), DELTA_ADJACENT=adjacent(delta, columns),
        PRECISION=PRECISION, BO=tile[0], BM=64, BP=tile[1], enable_fp_fusion=FUSED,
    )  # fmt: skip
    if parts == 1:
        return found[:, 0]
    ones = x.new_ones(1, 1, 1).expand(runs, 1, parts)
    return product(ones, found.flatten(2), None).view(runs, patch + 1, outputs)
