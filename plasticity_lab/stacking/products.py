"""Products of each run's matrices, and of a matrix and a vector, whose bits do not depend on the pack.

Legend: K runs, (M, R) times (R, N); R rows and C columns of a matrix.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.kernels import product as on_gpu


def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a (K, M, R) times b (K, R, N), plus bias (K, 1, N) → (K, M, N); on a GPU by our own kernel."""
    if on_gpu.serves(a):
        return on_gpu.product(a, b, bias)
    return torch.bmm(a, b) if bias is None else torch.baddbmm(bias, a, b)


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """(K, R, C) times (K, C) → (K, R): as a product of matrices."""
    padded = _without_ones(matrix)
    columns = pad(vector.unsqueeze(2), (0, 3, 0, padded.shape[2] - matrix.shape[2]))
    return product(padded, columns)[:, : matrix.shape[1], 0]


def row_times(vector: Tensor, matrix: Tensor) -> Tensor:
    """(K, R) times (K, R, C) → (K, C): as `times` of the matrix turned, but along its rows.

    Where there are many rows and few columns, `times` takes 3 to 5 times as long (MKL, EPYC of Zen 4).
    """
    padded = _without_ones(matrix)
    rows = pad(vector.unsqueeze(1), (0, padded.shape[1] - matrix.shape[1], 0, 3))
    return product(rows, padded)[:, 0, : matrix.shape[2]]


def _without_ones(matrix: Tensor) -> Tensor:
    """What is 1 of its rows and columns is padded with zeros to 4: see `StackedLinear`."""
    more_rows, more_columns = (3 if count == 1 else 0 for count in matrix.shape[1:])
    return pad(matrix, (0, more_columns, 0, more_rows)) if more_rows or more_columns else matrix
