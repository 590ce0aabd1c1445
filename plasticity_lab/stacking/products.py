"""Products and sums with bits that do not depend on the pack: products of each run's matrices, sums of floats.

A sum of floats rounds at every addition, so its last bits depend on how a kernel groups them. Compiled kernels group by
the width of vectors, by shapes and by the number of runs in the pack.

Legend: K runs, (M, R) times (R, N); R rows and C columns of a matrix.
"""

from math import inf, nan

import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.kernels import on_gpu, operators

EXPONENT_BITS = 0x7F800000


def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a (K, M, R) times b (K, R, N), plus bias (K, 1, N) → (K, M, N); on a GPU by our own kernel."""
    if on_gpu.serves(a):
        return on_gpu.product(a, b, bias)
    return torch.bmm(a, b) if bias is None else torch.baddbmm(bias, a, b)


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """(K, R, C) times (K, C) → (K, R), as a product of matrices."""
    padded = _without_ones(matrix)
    columns = pad(vector.unsqueeze(2), (0, 3, 0, padded.shape[2] - matrix.shape[2]))
    return product(padded, columns)[:, : matrix.shape[1], 0]


def row_times(vector: Tensor, matrix: Tensor) -> Tensor:
    """(K, R) times (K, R, C) → (K, C): like `times` of the transposed matrix, but along its rows.

    With many rows and few columns, `times` takes 3 to 5 times as long (MKL, EPYC of Zen 4).
    """
    padded = _without_ones(matrix)
    rows = pad(vector.unsqueeze(1), (0, padded.shape[1] - matrix.shape[1], 0, 3))
    return product(rows, padded)[:, 0, : matrix.shape[2]]


def _without_ones(matrix: Tensor) -> Tensor:
    """The matrix with its rows or columns padded with zeros to 4 if there is only one: see `StackedLinear`."""
    more_rows, more_columns = (3 if count == 1 else 0 for count in matrix.shape[1:])
    return pad(matrix, (0, more_columns, 0, more_rows)) if more_rows or more_columns else matrix


def run_sums(x: Tensor) -> Tensor:
    """The sum of each run over all its numbers; see `exact_sums`.  x (K, *), float32 → (K,)."""
    return exact_sums(x.flatten(1))


def exact_sums(x: Tensor) -> Tensor:
    """The sums along the last axis, independent of the order, without a gradient; nan if a number is not finite.

    x (*, N), float32 → (*).
    """
    x = x.detach()
    if operators.serve(x):
        return torch.ops.plasticity_lab.exact_sums(x)
    largest = x.abs().amax(dim=-1)
    power = power_of_two(largest)
    return torch.where(largest < inf, sums_below_two(x / power.unsqueeze(-1)) * power, nan)


def folded(x: Tensor) -> Tensor:
    """The upper half of the rows added to the lower half, number by number, until their count is odd.

    (*, R, C) → (*, odd part of R, C), with the same sums of columns. Each number is a sum in a fixed order, so its bits
    do not depend on the pack; with the rest by `exact_sums`, this takes a fraction of the time of exact sums alone.
    """
    while x.shape[-2] % 2 == 0:
        half = x.shape[-2] // 2
        x = x[..., :half, :] + x[..., half:, :]
    return x


def sums_below_two(x: Tensor) -> Tensor:
    """`exact_sums` of finite numbers between −2 and 2; for other numbers the sum has no meaning.

    Numbers are cut to whole multiples of a power of two that is below N · 2⁻⁵⁹: integers have the same sum in any
    order. The sum is rounded once, to float32.
    """
    bits = 61 - x.shape[-1].bit_length()  # each whole number is below 2⁶² / N
    whole = (x.detach() * 2.0**bits).to(torch.int64).sum(dim=-1)
    return (whole.to(torch.float64) * 2.0**-bits).to(torch.float32)


def power_of_two(x: Tensor) -> Tensor:
    """The power of two at or below x; 1 if x is 0, denormal, infinite or nan.  x ≥ 0, float32 → like x."""
    power = (x.view(torch.int32) & EXPONENT_BITS).view(torch.float32)
    return torch.where((power > 0) & (power < inf), power, 1.0)
