"""Strides of indices, as torch finds them by sympy."""

import pytest
import sympy
import torch  # noqa: F401
from torch._inductor.sizevars import stride_at_vec_range
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

from plasticity_lab.kernels.compiling import stride_in_sum

x, y = sympy.symbols("x y", integer=True, nonnegative=True)


@pytest.mark.parametrize(
    ("index", "stride"),
    [
        (sympy.Integer(3), 0),
        (x, 1),
        (5 * y + 7, 0),
        (16 * x + y + 1, 16),
        (4 * x + FloorDiv(y, 3), 4),
        (sympy.Mul(y, 3) - x, -1),
        (FloorDiv(x, 16), None),
        (x + ModularIndexing(x, 1, 32), None),
        (x * y, None),
    ],
)
def test_a_stride_is_read_off_a_sum_as_sympy_finds_it(index, stride):
    assert stride_in_sum(index, x) == stride
    if stride is not None:
        assert stride_at_vec_range(index, x, 16) == stride
