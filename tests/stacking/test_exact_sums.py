from math import fsum, inf, nan

import numpy as np
import pytest
import torch

from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.products import run_sums


def numbers(runs: int, count: int, decades: float = 1.0) -> np.ndarray:
    draw = host_stream(0, "numbers")
    return (draw.normal(size=(runs, count)) * 10 ** (decades * draw.normal(size=(runs, count)))).astype(np.float32)


@pytest.mark.parametrize("count", [1, 2, 7, 16, 1000, 65_537])
def test_sums_are_exact_to_the_last_place(count):
    for decades in (0, 1, 3):
        x_KN = numbers(3, count, decades)
        exact = np.array([fsum(row.tolist()) for row in x_KN])
        allowed = np.abs(exact) * 2**-23 + count**2 * 2.0**-59 * np.abs(x_KN).max(axis=1)
        assert (np.abs(run_sums(torch.from_numpy(x_KN)).numpy() - exact) <= allowed).all()


def test_order_layout_and_mates_do_not_matter():
    x_KN = torch.from_numpy(numbers(4, 5040, 2))
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
