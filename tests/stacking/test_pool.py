import pytest
import torch
from torch.nn.functional import max_pool2d

from plasticity_lab.agents.graphs import graph_of
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking import pool

SHAPES = [(2, 3, 4, 10, 10), (1, 2, 3, 9, 7), (3, 1, 1, 2, 3)]
FORMS = [pool.max_pooled, pool._of_pairs]


def images(shape: tuple[int, ...], values: int) -> torch.Tensor:
    """Whole numbers, so few that most squares hold their largest more than once."""
    return torch.from_numpy(host_stream(0, "x").integers(0, values, shape)).float()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_pooling_is_pytorchs_with_ties_and_odd_sides(shape, form):
    x, theirs = (images(shape, 3).requires_grad_() for _ in range(2))
    ours, expected = form(x), torch.stack([max_pool2d(one, 2) for one in theirs])
    assert torch.equal(ours, expected)
    toward = torch.from_numpy(host_stream(1, "x").normal(size=ours.shape)).float()
    ours.backward(toward)
    expected.backward(toward)
    assert torch.equal(x.grad, theirs.grad)


@pytest.mark.parametrize("form", FORMS)
def test_a_pixel_that_is_not_a_number_is_not_lost(form):
    for place in range(4):
        x = images((1, 1, 1, 2, 2), 3)
        x.view(-1)[place] = torch.nan
        assert form(x).isnan().all()


@pytest.mark.slow
def test_compiled_it_is_the_same():
    def gradient(x: torch.Tensor) -> torch.Tensor:
        return torch.func.grad(lambda x: pool.max_pooled(x).square().sum())(x)

    x = images((2, 4, 16, 10, 10), 3).contiguous()
    assert torch.equal(graph_of(gradient, None, [x])(x), gradient(x))
