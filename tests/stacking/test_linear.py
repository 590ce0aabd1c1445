import numpy as np
import pytest
import torch
from torch.nn.functional import linear

from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.linear import StackedLinear

SIZES = [(784, 100), (64, 91), (91, 10), (100, 10), (37, 93), (7, 3), (1, 1)]


def started(layer: StackedLinear, runs: int, init: str = "default", gain: float = 1.0) -> dict[str, torch.Tensor]:
    alone = [layer.start(host_stream(seed, "weights", layer.name), init, gain) for seed in range(runs)]
    return {name: torch.from_numpy(np.stack([start[name] for start in alone])) for name in alone[0]}


@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_each_run_is_a_linear_layer_of_its_own(inputs, outputs):
    layer = StackedLinear("layer", inputs, outputs)
    parameters = started(layer, 3)
    x_KBI = torch.from_numpy(host_stream(0, "x").normal(size=(3, 16, inputs)).astype(np.float32))
    h_KBO = layer(parameters, x_KBI)
    assert h_KBO.shape == (3, 16, outputs)
    for k in range(3):
        weight = parameters["layer.weight"][k, :, :outputs].T
        bias = parameters["layer.bias"][k, 0, :outputs]
        torch.testing.assert_close(h_KBO[k], linear(x_KBI[k], weight, bias), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_a_runs_weights_begin_on_16_bytes_and_padding_is_zero_and_not_counted(inputs, outputs):
    layer = StackedLinear("layer", inputs, outputs)
    weight, bias = started(layer, 3).values()
    assert all(weight[k].data_ptr() % 16 == weight.data_ptr() % 16 for k in range(3))
    assert layer.size == inputs * outputs + outputs
    assert weight[..., outputs:].count_nonzero() == bias[..., outputs:].count_nonzero() == 0
    assert weight[..., :outputs].count_nonzero() == 3 * inputs * outputs


@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_no_gradient_reaches_the_padding(inputs, outputs):
    layer = StackedLinear("layer", inputs, outputs)
    parameters = {name: value.requires_grad_() for name, value in started(layer, 2).items()}
    layer(parameters, torch.ones(2, 16, inputs)).square().sum().backward()
    for value in parameters.values():
        assert value.grad[..., outputs:].count_nonzero() == 0
        assert value.grad[..., :outputs].count_nonzero() == value[..., :outputs].numel()


def test_default_start_is_pytorchs_own_law():
    """nn.Linear: weights and biases uniform in ±1/√I."""
    weight, bias = (values.numpy() for values in started(StackedLinear("layer", 400, 500), 4).values())
    theirs = torch.nn.Linear(400, 500).weight.detach()
    for ours in (weight, bias):
        assert np.abs(ours).max() <= 1 / 20
        assert np.abs(ours).max() == pytest.approx(float(theirs.abs().max()), rel=0.01)
        assert ours.std() == pytest.approx(1 / 20 / np.sqrt(3), rel=0.03)
        assert abs(ours.mean()) < 5 * ours.std() / np.sqrt(ours.size)


def test_kaiming_start_keeps_the_variance_for_the_gain():
    weight, bias = (values.numpy() for values in started(StackedLinear("layer", 400, 500), 4, "kaiming", 1.5).values())
    theirs = torch.empty(500, 400)
    torch.nn.init.kaiming_uniform_(theirs, nonlinearity="relu")
    assert weight.std() == pytest.approx(1.5 / 20, rel=0.01)
    assert np.abs(weight).max() == pytest.approx(float(theirs.abs().max()) * 1.5 / np.sqrt(2), rel=0.01)
    assert not bias.any()
