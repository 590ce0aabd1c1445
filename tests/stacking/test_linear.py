import numpy as np
import pytest
import torch
from torch.nn.functional import linear

from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.linear import StackedLinear

SIZES = [(784, 100), (64, 91), (91, 10), (100, 10), (37, 93), (7, 3), (1, 1), (64, 1), (1, 100)]


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


@pytest.mark.parametrize("examples", [4, 16, 200])
@pytest.mark.parametrize(("inputs", "outputs"), [(784, 1), (100, 1), (7, 1), (1, 1), (1, 10), (1, 100)])
def test_one_unit_or_one_input_is_the_same_alone_as_in_a_pack(inputs, outputs, examples):
    """A value head, and the layer behind one unit: forward or backward, each is a matrix times a vector."""
    layer = StackedLinear("layer", inputs, outputs)
    draw = host_stream(0, "x")
    x_KBI, g_KBO = (
        torch.from_numpy(draw.normal(size=(16, examples, count)).astype(np.float32)) for count in (inputs, outputs)
    )

    def computed(runs: slice) -> list[torch.Tensor]:
        """The product and its gradients, of the pack of those runs."""
        given = [x_KBI[runs].clone().requires_grad_()]
        given += [value[runs].clone().requires_grad_() for value in parameters.values()]
        h_KBO = layer(dict(zip(parameters, given[1:], strict=True)), given[0])
        h_KBO.backward(g_KBO[runs])
        return [h_KBO, *(value.grad for value in given)]

    parameters = started(layer, 16)
    alone = computed(slice(0, 1))
    for width in (2, 3, 4, 5, 8, 16):
        for own, packed in zip(alone, computed(slice(0, width)), strict=True):
            assert torch.equal(own[0], packed[0]), f"in a pack of {width}"


def test_one_unit_is_kept_without_more_padding_than_alignment_needs():
    shapes = {
        sizes: [value.shape for value in StackedLinear("l", *sizes).start(host_stream(0, "w"), "default", 1.0).values()]
        for sizes in [(64, 1), (7, 1), (1, 12), (1, 10)]
    }
    assert shapes == {
        (64, 1): [(64, 1), (1, 1)],
        (7, 1): [(7, 4), (1, 4)],
        (1, 12): [(1, 12), (1, 12)],
        (1, 10): [(1, 12), (1, 12)],
    }


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


def test_squares_are_of_the_sum_over_an_examples_rows():
    """Two examples of two rows. Of the first, x δ is 1 · 2 and 3 · (−1): (2 − 3)² = 1, not 2² + 3² = 13; of the second
    1 · 1 and 1 · 1: 4. The bias: (2 − 1)² + (1 + 1)² = 5.
    """
    x = torch.tensor([1.0, 3.0, 1.0, 1.0]).view(1, 4, 1)
    delta = torch.tensor([2.0, -1.0, 1.0, 1.0]).view(1, 4, 1)
    squares = StackedLinear("own", 1, 1, positions=2).squares({}, x, delta)
    assert squares["own.weight"][0, 0, 0] == 1 + 4
    assert squares["own.bias"][0, 0, 0] == 1 + 4
    of_rows = StackedLinear("own", 1, 1).squares({}, x, delta)
    assert of_rows["own.weight"][0, 0, 0] == 13 + 2
