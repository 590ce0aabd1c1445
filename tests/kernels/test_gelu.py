"""GELU by the kernel: the bits of the composed function that compiled code has without it, and torch's values."""

import pytest
import torch

from plasticity_lab.kernels import build
from plasticity_lab.kernels.layers import gelu
from plasticity_lab.kernels.through import prepare
from plasticity_lab.stacking import elementary

pytestmark = pytest.mark.skipif(build.missing() is not None, reason=f"no kernels: {build.missing()}")


@pytest.fixture
def by_composed(monkeypatch):
    """`elementary.gelu` as compiled code has it."""
    monkeypatch.setattr(elementary, "compiles_for_cpu", lambda x: True)
    return elementary.gelu


@pytest.mark.parametrize("numbers", [1, 16, 29, 4001])
def test_values_and_gradients_are_the_composed_ones_bit_for_bit(numbers, by_composed):
    prepare()
    x, towards, beta = 4 * torch.randn(3, 1, numbers), torch.randn(3, 1, numbers), torch.tensor([1.0, 0.3, 2.5])
    ours, theirs = (x.clone().requires_grad_() for _ in range(2))
    value, expected = gelu(ours, beta), by_composed(beta.view(3, 1, 1) * theirs)
    (value * towards).sum().backward()
    (expected * towards).sum().backward()
    assert torch.equal(value, expected)
    assert torch.equal(ours.grad, theirs.grad)
    torch.testing.assert_close(
        value, torch.nn.functional.gelu(beta.double().view(3, 1, 1) * x).float(), rtol=0, atol=2e-6
    )


def test_at_the_ends():
    prepare()
    x = torch.tensor([[-1e30, -40.0, 0.0, 40.0, 1e30, torch.inf, torch.nan]], requires_grad=True)
    value = gelu(x, torch.ones(1))
    assert value[0, :6].tolist() == [0, 0, 0, 40, x[0, 4], torch.inf]
    assert value[0, 6].isnan()
    value[0, :5].sum().backward()
    assert x.grad[0, :5].tolist() == [0, 0, 0.5, 1, 1]
