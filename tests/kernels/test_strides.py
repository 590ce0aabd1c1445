"""Strides of indices, as torch finds them by sympy."""

import pytest
import sympy
import torch  # noqa: F401
from torch._inductor import sizevars
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

from plasticity_lab.kernels.compiling import stride_in_sum, wraps_around

if not hasattr(sizevars, "stride_at_vec_range"):
    pytest.skip("torch 2.11 finds strides otherwise", allow_module_level=True)

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
        assert sizevars.stride_at_vec_range(index, x, 16) == stride


@pytest.mark.parametrize(
    ("index", "wraps"),
    [
        (y + ModularIndexing(x + 8, 1, 64), True),
        (64 * y + ModularIndexing(ModularIndexing(x + 2, 1, 64) + 8, 1, 64) + x, True),
        (ModularIndexing(x, 1, 64), False),
        (ModularIndexing(x + 8, 1, 64) + FloorDiv(x, 16), False),
        (x + ModularIndexing(y + 8, 1, 64), False),
    ],
)
def test_a_remainder_of_a_sum_has_no_stride_by_sympy_either(index, wraps):
    assert wraps_around(index, x) == wraps
    if wraps:
        by_sympy = sizevars.stride_at_vec_range(index, x, 16)
        assert not by_sympy.is_number
        assert by_sympy.has(x)
