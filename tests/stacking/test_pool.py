import pytest
import torch
from torch.nn.functional import max_pool2d, pad

from plasticity_lab.agents.graphs import graph_of
from plasticity_lab.kernels.through import prepare
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking import pool
from plasticity_lab.stacking.conv import margins
from tests.helpers.packs import needs_kernels

SHAPES = [(2, 3, 4, 10, 10), (1, 2, 3, 9, 7), (3, 1, 1, 2, 3)]
WINDOWS = [(3, 2, "same"), (3, 2, "valid"), (2, 2, "same"), (3, 1, "same"), (2, 3, "same"), (3, 3, "valid")]


def what_compiles(x: torch.Tensor, *how) -> torch.Tensor:
    """The form that a compiler is given, run without one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.compiler, "is_compiling", lambda: True)
        return pool.max_pooled(x, *how)


def by_kernels(x: torch.Tensor, *how) -> torch.Tensor:
    """By the kernels, which serve windows that overlap."""
    prepare()
    return pool.max_pooled(x, *how, kernels=True)


FORMS = [pool.max_pooled, what_compiles, pytest.param(by_kernels, marks=needs_kernels)]


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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("shape", [(2, 3, 4, 10, 10), (1, 2, 3, 9, 7), (3, 1, 1, 4, 3)])
def test_so_are_windows_that_overlap_or_leave_gaps_and_margins(shape, window, form):
    size, stride, padding = window
    x, theirs = (images(shape, 3).sub(5).requires_grad_() for _ in range(2))  # below 0: a margin of zeros would win
    (above, below), (left, right) = (margins(side, size, stride, padding) for side in shape[3:])
    within = pad(theirs.flatten(0, 1), (left, right, above, below), value=-torch.inf)
    ours, expected = form(x, *window), max_pool2d(within, size, stride).unflatten(0, shape[:2])
    assert torch.equal(ours, expected)
    toward = torch.from_numpy(host_stream(1, "x").integers(-9, 9, ours.shape)).float()  # sums of these are exact
    ours.backward(toward)
    expected.backward(toward)
    assert torch.equal(x.grad, theirs.grad)


@pytest.mark.parametrize("form", FORMS)
def test_same_pooling_by_threes_in_steps_of_two_by_hand(form):
    """Four pixels have a margin behind alone, five one on either side."""
    four, five = ([[[[[1.0, 5.0, 2.0, 3.0]]]]], [[[[[1.0, 5.0, 2.0, 3.0, 4.0]]]]])
    assert form(torch.tensor(four), 3, 2, "same").flatten().tolist() == [5, 3]
    assert form(torch.tensor(five), 3, 2, "same").flatten().tolist() == [5, 5, 4]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("batch", [1, 3, 5])
def test_a_run_is_pooled_alike_in_every_pack(batch, form):
    draw = host_stream(2, "x")
    x = torch.from_numpy(draw.normal(size=(12, batch, 3, 9, 10)).astype("float32"))
    toward = torch.from_numpy(draw.normal(size=(12, batch, 3, 5, 5)).astype("float32"))

    def results(part: slice) -> list[torch.Tensor]:
        own = x[part].clone().requires_grad_()
        h = form(own, 3, 2, "same")
        h.backward(toward[part])
        return [h.detach(), own.grad]

    alone = results(slice(11, 12))
    for width in (2, 3, 5, 6, 8, 12):
        for one, packed in zip(alone, results(slice(12 - width, 12)), strict=True):
            assert torch.equal(one[0], packed[-1]), f"of {width}"


@pytest.mark.slow
@pytest.mark.parametrize("kernels", [False, pytest.param(True, marks=needs_kernels)])
@pytest.mark.parametrize("window", [(2, 2, "valid"), (3, 2, "same")])
def test_compiled_it_is_the_same(window, kernels):
    if kernels:
        prepare()

    def gradient(x: torch.Tensor) -> torch.Tensor:
        return torch.func.grad(lambda x: pool.max_pooled(x, *window, kernels=kernels).square().sum())(x)

    x = images((2, 4, 16, 10, 10), 3).contiguous()
    assert torch.equal(graph_of(gradient, None, [x])(x), gradient(x))
