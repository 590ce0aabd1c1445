"""Batch normalisation by the kernels: compared with torch's in float64, and the bits of a run in any pack."""

import pytest
import torch
from torch import nn

from plasticity_lab.kernels import build
from plasticity_lab.kernels.layers import batch_norm
from plasticity_lab.kernels.through import ThroughKernels, prepare
from plasticity_lab.stacking.batch_normed import Learning, StackedBatchNormed
from plasticity_lab.stacking.conv import StackedConv2d

pytestmark = pytest.mark.skipif(build.missing() is not None, reason=f"no kernels: {build.missing()}")
EXAMPLES, PADDING = 6, 2
WEIGHTS = torch.tensor([1 / EXAMPLES] * EXAMPLES + [0.0] * PADDING)


@pytest.fixture(autouse=True, scope="module")
def prepared():
    prepare()


@pytest.mark.parametrize("channels", [1, 13, 16, 40])
@pytest.mark.parametrize("pixels", [1, 35])
def test_values_and_gradients_are_torchs_and_those_of_a_run_alone(channels, pixels):
    rows, examples = (EXAMPLES + PADDING) * pixels, EXAMPLES * pixels
    given = 3 + 2 * torch.randn(2, rows, channels), torch.randn(2, 1, channels), torch.randn(2, 1, channels)
    towards = torch.randn(2, rows, channels)
    towards[:, examples:] = 0

    def found(*given):
        x, scale, shift = (each.clone().requires_grad_() for each in given)
        y, mean, variance = batch_norm(x, WEIGHTS, scale, shift, 1e-5)
        (y * towards[-len(x) :]).sum().backward()
        return [y.detach(), mean, variance, x.grad, scale.grad, shift.grad]

    packed = found(*given)
    for ours, alone in zip(packed, found(*(each[1:] for each in given)), strict=True):
        assert torch.equal(ours[1:], alone)
    y, mean, variance, by_x, by_scale, by_shift = (each[1] for each in packed)
    norm = nn.BatchNorm1d(channels, momentum=1.0, dtype=torch.float64)
    norm.weight.data, norm.bias.data = (each[1, 0].double() for each in given[1:])
    x = given[0][1, :examples].double().requires_grad_()
    (norm(x) * towards[1, :examples]).sum().backward()
    for ours, theirs in (
        (y[:examples], norm(x)),
        (mean[0], norm.running_mean),
        (variance[0] * examples / (examples - 1), norm.running_var),
        (by_x[:examples], x.grad),
        (by_scale[0], norm.weight.grad),
        (by_shift[0], norm.bias.grad),
    ):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-5)
    assert not by_x[examples:].any()


def test_a_layer_has_the_same_numbers_with_kernels_and_without():
    layer = StackedBatchNormed("own", StackedConv2d("own", (2, 6, 5), 5, 3, "same"))
    shapes = {"weight": (2, 18, 8), "bias": (2, 1, 8), "scale": (2, 1, 5), "shift": (2, 1, 5)}
    parameters = {f"own.{name}": torch.randn(shape) for name, shape in shapes.items()}
    parameters |= {"own.mean": torch.randn(2, 1, 5), "own.variance": torch.rand(2, 1, 5)}
    x = torch.randn(2, 8, 2, 6, 5)
    found = []
    for given in (parameters, ThroughKernels(parameters)):
        learning = Learning(WEIGHTS)
        found.append((StackedBatchNormed("own", layer.layer, learning)(given, x), *learning.after.values()))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one[:, :EXAMPLES], other[:, :EXAMPLES], rtol=1e-4, atol=1e-5)
