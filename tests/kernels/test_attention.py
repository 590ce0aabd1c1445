"""Attention by the kernel: compared with torch's in float64, and the bits of a run in any pack."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from plasticity_lab.kernels import build
from plasticity_lab.kernels.layers import attention
from plasticity_lab.kernels.through import prepare

pytestmark = pytest.mark.skipif(build.missing() is not None, reason=f"no kernels: {build.missing()}")
SHAPES = [(1, 1, 1), (7, 2, 3), (17, 3, 8), (33, 1, 40), (65, 4, 16)]
"""Tokens, heads, and numbers of a head."""


def found(tables, towards, tokens, heads):
    own = [table.clone().requires_grad_() for table in tables]
    y = attention(*own, tokens, heads)
    (y * towards).sum().backward()
    return [y.detach(), *(each.grad for each in own)]


@pytest.mark.parametrize(("tokens", "heads", "numbers"), SHAPES)
def test_values_and_gradients_are_torchs_and_those_of_a_run_alone(tokens, heads, numbers):
    prepare()
    *tables, towards = 2 * torch.randn(4, 2, 3 * tokens, heads * numbers)
    packed = found(tables, towards, tokens, heads)
    for ours, alone in zip(packed, found([x[1:] for x in tables], towards[1:], tokens, heads), strict=True):
        assert torch.equal(ours[1:], alone)

    def by_heads(x):
        return x.unflatten(1, (-1, tokens)).unflatten(3, (heads, -1)).transpose(2, 3)

    double = [table.double().requires_grad_() for table in tables]
    expected = scaled_dot_product_attention(*map(by_heads, double)).transpose(2, 3).flatten(3).flatten(1, 2)
    (expected * towards).sum().backward()
    for ours, theirs in zip(packed, (expected, *(each.grad for each in double)), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=3e-5)


def test_a_number_that_is_none_spoils_its_example_and_head_alone():
    prepare()
    queries, keys, values = torch.randn(3, 1, 10, 6)
    keys[0, 6, 4] = torch.nan
    spoilt = attention(queries, keys, values, 5, 2).isnan()
    assert spoilt[0, 5:, 3:].all()
    assert spoilt.sum() == 5 * 3
