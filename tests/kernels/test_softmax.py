"""Shares of tables by the kernels: beside torch's in float64, and what holds of them exactly."""

from math import inf, log, nan

import pytest
import torch

from plasticity_lab.kernels import build
from plasticity_lab.kernels.layers import softmax
from plasticity_lab.kernels.through import prepare

pytestmark = pytest.mark.skipif(build.missing() is not None, reason=f"no kernels: {build.missing()}")
SHAPES = [(1, 1, 1), (2, 7, 5), (3, 16, 32), (2, 28, 25), (1, 124, 121)]


@pytest.fixture(autouse=True, scope="module")
def prepared():
    prepare()


@pytest.mark.parametrize("of_columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shares_and_their_gradient_are_torchs(shape, of_columns):
    x, delta = 8 * torch.randn(shape), torch.randn(shape)
    there = max(1, shape[1] - 3) if of_columns else shape[1]
    own, theirs = x.clone().requires_grad_(), x.double().requires_grad_()
    shares = softmax(own, of_columns, there)
    expected = torch.zeros(shape, dtype=torch.float64)
    expected[:, :there] = torch.softmax(theirs[:, :there], dim=1 if of_columns else 2)
    shares.backward(delta)
    expected.backward(delta.double())
    torch.testing.assert_close(shares.double(), expected, rtol=1e-5, atol=1e-12)
    torch.testing.assert_close(own.grad.double(), theirs.grad, rtol=1e-5, atol=2e-6)


def test_by_hand():
    """ln 1, ln 2 and ln 5 have an eighth, a quarter and five eighths; equal numbers equal shares; nothing has none."""
    row = torch.tensor([[[log(1), log(2), log(5), -inf]]])
    torch.testing.assert_close(softmax(row, False, 0), torch.tensor([[[0.125, 0.25, 0.625, 0]]]))
    torch.testing.assert_close(softmax(row.transpose(1, 2), True, 4).flatten(), torch.tensor([0.125, 0.25, 0.625, 0]))
    assert torch.equal(softmax(torch.full((1, 4, 4), 1e30), True, 2)[0, :, 0], torch.tensor([0.5, 0.5, 0, 0]))
    assert torch.equal(softmax(torch.tensor([[[0.0, -200]]]), False, 0), torch.tensor([[[1.0, 0]]]))


def test_what_is_not_a_number_spoils_its_row_or_column_alone():
    x = torch.zeros(1, 3, 20)
    x[0, 1, 2] = nan
    assert softmax(x, False, 0).isnan().any(dim=2).tolist() == [[False, True, False]]
    assert softmax(x, True, 3).isnan().all(dim=1).nonzero().tolist() == [[0, 2]]


@pytest.mark.parametrize("of_columns", [False, True], ids=["rows", "columns"])
def test_a_tables_bits_do_not_depend_on_the_others(of_columns):
    x, delta = torch.randn(5, 28, 25), torch.randn(5, 28, 25)
    together = softmax(x, of_columns, 25)
    gradients = torch.ops.plasticity_lab.softmax_input(delta, together, of_columns)
    for n in range(5):
        alone = softmax(x[n : n + 1].clone(), of_columns, 25)
        assert torch.equal(alone[0], together[n])
        gradient = torch.ops.plasticity_lab.softmax_input(delta[n : n + 1].clone(), alone, of_columns)
        assert torch.equal(gradient[0], gradients[n])
