import pytest
import torch

from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.products import row_times, times

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
