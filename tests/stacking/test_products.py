from math import fsum, inf, nan

import numpy as np
import pytest
import torch

from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.products import row_times, run_sums, times

SHAPES = [(3, 5, 7), (3, 1, 4), (3, 4, 1), (1, 2, 3), (4, 3200, 16)]


def numbers(*shape: int) -> torch.Tensor:
    return torch.from_numpy(host_stream(0, "x").normal(size=shape)).float()


@pytest.mark.parametrize("shape", SHAPES)
def test_each_runs_matrix_is_multiplied_with_its_vector(shape):
    runs, rows, columns = shape
    matrix, right, left = numbers(*shape), numbers(runs, columns), numbers(runs, rows)
    for ours, expected in [
        (times(matrix, right), torch.einsum("krc,kc->kr", matrix.double(), right.double())),
        (row_times(left, matrix), torch.einsum("kr,krc->kc", left.double(), matrix.double())),
    ]:
        torch.testing.assert_close(ours.double(), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_of_a_pack_has_the_bits_of_the_run_alone(shape):
    runs, rows, columns = shape
    matrix, right, left = numbers(*shape), numbers(runs, columns), numbers(runs, rows)
    for run in range(runs):
        one = slice(run, run + 1)
        assert torch.equal(times(matrix, right)[one], times(matrix[one], right[one]))
        assert torch.equal(row_times(left, matrix)[one], row_times(left[one], matrix[one]))


def spread(runs: int, count: int, decades: float = 1.0) -> np.ndarray:
    draw = host_stream(0, "numbers")
    return (draw.normal(size=(runs, count)) * 10 ** (decades * draw.normal(size=(runs, count)))).astype(np.float32)


@pytest.mark.parametrize("count", [1, 2, 7, 16, 1000, 65_537])
def test_sums_are_exact_to_the_last_place(count):
    for decades in (0, 1, 3):
        x_KN = spread(3, count, decades)
        exact = np.array([fsum(row.tolist()) for row in x_KN])
        allowed = np.abs(exact) * 2**-23 + count**2 * 2.0**-59 * np.abs(x_KN).max(axis=1)
        assert (np.abs(run_sums(torch.from_numpy(x_KN)).numpy() - exact) <= allowed).all()


def test_order_layout_and_mates_do_not_matter():
    x_KN = torch.from_numpy(spread(4, 5040, 2))
    sums = run_sums(x_KN)
    assert torch.equal(run_sums(x_KN.flip(1)), sums)
    assert torch.equal(run_sums(x_KN.view(4, 70, 72).transpose(1, 2)), sums)
    assert torch.equal(run_sums(x_KN[2:3].contiguous()), sums[2:3])


def test_zeros_and_the_ends_of_the_range():
    x_KN = torch.tensor([[0.0, 0.0, 0.0], [3e38, -3e38, 1.0], [3e38, 3e38, 0.0], [1.2e-38, 1.2e-38, 0.0]])
    torch.testing.assert_close(run_sums(x_KN), torch.tensor([0.0, 0.0, inf, 2.4e-38]), rtol=1e-6, atol=0)


@pytest.mark.parametrize("value", [inf, -inf, nan])
def test_a_run_with_a_number_that_is_not_finite_has_no_sum_and_its_mates_have(value):
    assert run_sums(torch.tensor([[1.0, value], [1.0, 2.0]])).isnan().tolist() == [True, False]
