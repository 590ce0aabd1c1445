"""The convolutions' kernels: sums in a documented order, at every shape, alone and in a pack."""

import pytest
import torch
from torch.nn.functional import conv2d

from plasticity_lab.kernels import build
from plasticity_lab.kernels.layers import conv
from plasticity_lab.kernels.through import ThroughKernels, prepare
from plasticity_lab.stacking.conv import StackedConv2d

pytestmark = pytest.mark.skipif(build.missing() is not None, reason=f"no kernels: {build.missing()}")
SHAPES = [  # runs, batch, channels, rows, columns, output channels, kernel, margin
    (2, 3, 3, 8, 9, 5, 2, 0),
    (2, 3, 3, 8, 9, 16, 4, 0),
    (1, 2, 16, 6, 7, 33, 4, 2),
    (2, 1, 2, 7, 5, 5, 3, 1),
    (1, 4, 4, 5, 3, 8, 1, 0),
    (1, 1, 1, 2, 2, 1, 5, 4),  # more zeros than image
]


BY_POINTS = [  # the same, of those that are taken by points: tiles and rows that end with the image, and that do not
    (2, 3, 16, 10, 10, 16, 3, 1),
    (2, 5, 20, 7, 9, 33, 3, 0),
    (1, 40, 16, 8, 8, 3, 3, 1),
    (1, 2, 32, 12, 5, 32, 3, 2),
    (1, 2, 16, 14, 14, 16, 5, 0),
    (2, 2, 16, 6, 7, 33, 5, 2),
    (2, 3, 3, 8, 9, 5, 5, 0),
    (1, 2, 3, 23, 9, 20, 5, 2),
    (2, 3, 3, 9, 33, 32, 3, 1),
    (1, 2, 4, 26, 20, 16, 3, 0),
]


@pytest.fixture(autouse=True, scope="module")
def prepared():
    prepare()


def whole(*shape: int) -> torch.Tensor:
    """Small whole numbers, of which every sum is exact."""
    return torch.randint(-8, 9, shape).float()


@pytest.mark.sample(2)
@pytest.mark.parametrize(("runs", "batch", "channels", "rows", "columns", "outputs", "kernel", "margin"), SHAPES)
def test_exact_sums_are_those_of_pytorch(runs, batch, channels, rows, columns, outputs, kernel, margin):
    x, weight, bias = (
        whole(runs, batch, rows, columns, channels),
        whole(runs, channels * kernel**2, outputs),
        whole(runs, 1, outputs),
    )
    for value in (x, weight, bias):
        value.requires_grad_()
    h = conv(x, weight, bias, kernel, margin)
    delta = whole(*h.shape)
    h.backward(delta)
    for run in range(runs):
        own = [
            x[run].detach().permute(0, 3, 1, 2).double(),
            weight[run].detach().T.reshape(outputs, channels, kernel, kernel).double(),
            bias[run, 0].detach().double(),
        ]
        for value in own:
            value.requires_grad_()
        theirs = conv2d(*own, padding=margin)
        theirs.backward(delta[run].permute(0, 3, 1, 2).double())
        assert torch.equal(h[run].permute(0, 3, 1, 2).double(), theirs)
        assert torch.equal(x.grad[run].permute(0, 3, 1, 2).double(), own[0].grad)
        assert torch.equal(weight.grad[run].double(), own[1].grad.flatten(1).T)
        assert torch.equal(bias.grad[run, 0].double(), own[2].grad)


@pytest.mark.parametrize(("runs", "batch", "channels", "rows", "columns", "outputs", "kernel", "margin"), BY_POINTS)
def test_sums_by_points_are_near_to_those_in_float64(runs, batch, channels, rows, columns, outputs, kernel, margin):
    draw = torch.Generator().manual_seed(0)
    shapes = (runs, batch, rows, columns, channels), (runs, channels * kernel**2, outputs), (runs, 1, outputs)
    x, weight, bias = (torch.randn(*shape, generator=draw, requires_grad=True) for shape in shapes)
    h = conv(x, weight, bias, kernel, margin)
    delta = torch.randn(h.shape, generator=draw)
    h.backward(delta)
    for run in range(runs):
        own = [
            x[run].detach().permute(0, 3, 1, 2).double().requires_grad_(),
            weight[run].detach().T.reshape(outputs, channels, kernel, kernel).double().requires_grad_(),
        ]
        theirs = conv2d(*own, bias[run, 0].detach().double(), padding=margin)
        theirs.backward(delta[run].permute(0, 3, 1, 2).double())
        found = (h[run].permute(0, 3, 1, 2), x.grad[run].permute(0, 3, 1, 2), weight.grad[run])
        bounds = (2e-6, 2e-6, 4e-6)  # of the last, sums over all places
        for ours, exact, bound in zip(found, (theirs, own[0].grad, own[1].grad.flatten(1).T), bounds, strict=True):
            assert (ours - exact).norm() < bound * exact.norm()


@pytest.mark.parametrize(
    ("runs", "batch", "channels", "rows", "columns", "outputs", "kernel", "margin"), SHAPES + BY_POINTS
)
def test_a_run_alone_is_the_same(runs, batch, channels, rows, columns, outputs, kernel, margin):
    """At every place, forward and backward; and an example is the same in a smaller batch."""
    x = torch.randn(runs, batch, rows, columns, channels)
    weight, bias = torch.randn(runs, channels * kernel**2, outputs), torch.randn(runs, 1, outputs)
    delta = torch.randn(*conv(x, weight, bias, kernel, margin).shape)

    def found(part: slice) -> list[torch.Tensor]:
        given = [value[part].clone().requires_grad_() for value in (x, weight, bias)]
        h = conv(*given, kernel, margin)
        h.backward(delta[part])
        return [h.detach(), *(value.grad for value in given)]

    together = found(slice(None))
    for run in range(runs):
        alone = found(slice(run, run + 1))
        assert all(torch.equal(one[0], all_[run]) for one, all_ in zip(alone, together, strict=True))
    assert torch.equal(conv(x[:, :1].contiguous(), weight, bias, kernel, margin), together[0][:, :1])


@pytest.mark.parametrize("channels", [3, 16])
@pytest.mark.parametrize(("kernel", "points"), [(3, True), (4, False), (5, True)])
def test_layers_of_three_by_three_and_five_by_five_are_taken_by_points(kernel, points, channels):
    """There whole numbers are multiplied by sixths or ninths, and their sums are not exact."""
    x, weight = whole(1, 4, 26, 26, channels), whole(1, channels * kernel**2, 16)
    h = conv(x, weight, torch.zeros(1, 1, 16), kernel, 0)[0].permute(0, 3, 1, 2)
    exact = conv2d(x[0].permute(0, 3, 1, 2), weight[0].T.reshape(16, channels, kernel, kernel))
    assert torch.equal(h, exact) is not points


def test_sums_take_their_products_in_order():
    """Row by row, column by column, and last by channel: 1 beside 2²⁴ is lost. The weights lie channel by channel."""
    big = 2.0**24
    places = {"row": (0, 1, 0, 0), "column": (0, 0, 1, 0), "channel": (0, 0, 0, 1)}
    ones, bias = torch.ones(1, 2 * 4, 1), torch.zeros(1, 1, 1)
    for place in places.values():
        x = torch.zeros(1, 1, 2, 2, 2)
        x[0, 0, 0, 0, 0], x[(0, *place)], x[0, 0, 1, 1, 1] = big, 1.0, -big
        assert conv(x, ones, bias, 2, 0).item() == 0
    x = torch.zeros(1, 1, 2, 2, 2)
    x[0, 0, 0, 0, 1], x[0, 0, 0, 1, 0], x[0, 0, 1, 0, 0] = big, 1.0, -big  # a channel's place comes before a column's
    assert conv(x, ones, bias, 2, 0).item() == 0
    weight = torch.arange(8.0).reshape(1, 8, 1)
    x = torch.zeros(1, 1, 2, 2, 2)
    x[0, 0, 1, 0, 1] = 1
    assert conv(x, weight, bias, 2, 0).item() == 1 * 4 + 1 * 2 + 0


@pytest.mark.parametrize(
    ("image", "outputs", "kernel", "padding"), [((3, 9, 7), 5, 3, "same"), ((1, 8, 8), 3, 5, "valid")]
)
def test_a_layer_through_them_is_the_layer(image, outputs, kernel, padding):
    """Weights that are stored with padding among them; images in PyTorch's order."""
    layer = StackedConv2d("conv", image, outputs, kernel, padding)
    stored = {
        "conv.weight": torch.randn(2, layer.linear.inputs, layer.linear.padded),
        "conv.bias": torch.randn(2, 1, layer.linear.padded),
    }
    x = torch.randn(2, 4, *image)
    torch.testing.assert_close(layer(ThroughKernels(stored), x), layer(stored, x), rtol=1e-5, atol=1e-5)
