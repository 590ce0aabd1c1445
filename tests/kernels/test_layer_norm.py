"""Layer normalisation of rows by the kernels: compared with torch's in float64, and the bits of a run in any pack."""

import pytest
import torch
from torch.nn.functional import layer_norm as by_torch

from plasticity_lab.kernels import build
from plasticity_lab.kernels.layers import layer_norm
from plasticity_lab.kernels.through import prepare

pytestmark = pytest.mark.skipif(build.missing() is not None, reason=f"no kernels: {build.missing()}")


@pytest.mark.parametrize("columns", [8, 13, 16, 40])
def test_values_and_gradients_are_torchs_and_those_of_a_run_alone(columns):
    prepare()
    given = 3 + 2 * torch.randn(2, 132, columns), torch.randn(2, 1, columns), torch.randn(2, 1, columns)
    towards = torch.randn(2, 132, columns)

    def found(*given):
        own = [each.clone().requires_grad_() for each in given]
        y = layer_norm(*own, 1e-5)
        (y * towards[-len(y) :]).sum().backward()
        return [y.detach(), *(each.grad for each in own)]

    packed = found(*given)
    for ours, alone in zip(packed, found(*(each[1:] for each in given)), strict=True):
        assert torch.equal(ours[1:], alone)
    x, scale, shift = (each[1].double().requires_grad_() for each in given)
    expected = by_torch(x, (columns,), scale[0], shift[0], 1e-5)
    (expected * towards[1]).sum().backward()
    for ours, theirs in zip(packed, (expected, x.grad, scale.grad, shift.grad), strict=True):
        torch.testing.assert_close(ours[1].double(), theirs, rtol=1e-5, atol=3e-5)
