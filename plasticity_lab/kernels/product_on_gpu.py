"""Products of matrices for each run of a pack, in Triton: this module is imported where there is a GPU.

A run's sums are taken in an order that depends on the shapes of its own matrices alone, so that its bits do not depend
on its mates; cuBLAS chooses its routine by the number of matrices, too.

Legend: K runs, (M, R) times (R, N), S parts of R.
"""

import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]
from torch import Tensor

PART = 1024
"""Where R is twice this or more, sums of so many products are taken side by side, and added up in their order."""
PRECISION = "tf32x3"
"""Each number is taken as two of 11 bits, and of their four products three, by the units that are made for that. On an
H200 results were nearer to float64's than those of products one by one (an error of 1.6e-7 of the whole beside 5.1e-7,
784 products a sum), and up to twice as fast."""


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
    tile = side(height, 32), side(width, 64), 16 if inner <= 16 else 32
    grid = triton.cdiv(height, tile[0]) * triton.cdiv(width, tile[1]), runs, parts
    first_bias = bias if parts == 1 else None
    of_bias = (0, 0) if first_bias is None else (first_bias.stride(0), first_bias.stride(2))
    _product[grid](  # pyright: ignore[reportIndexIssue]
        a, b, first_bias, found, height, width, inner,
        *a.stride(), *b.stride(), *of_bias,
        found.stride(0), found.stride(1), TAKEN=PART if parts > 1 else inner, BIASED=first_bias is not None,
        PRECISION=PRECISION, BM=tile[0], BN=tile[1], BR=tile[2],
    )  # fmt: skip
    if parts == 1:
        return found[:, 0]
    ones = a.new_ones(1, 1, 1).expand(runs, 1, parts)
    total = product(ones, found.flatten(2), None).view(runs, height, width)
    return total if bias is None else total + bias


def side(count: int, most: int) -> int:
    """Of a tile: a power of 2, at least 16."""
    return min(most, max(16, triton.next_power_of_2(count)))
