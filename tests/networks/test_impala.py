"""The residual encoders: sizes, the forward pass written plainly, first weights, units that can be reset and cannot."""

import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d, linear, max_pool2d, pad, relu

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.swiglu import SwiGLU
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.impala import Impala
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.networks.small_impala import SmallImpala
from plasticity_lab.networks.units import cut_off, read_by_outputs, start_anew
from plasticity_lab.randomness.host import host_stream
from tests.helpers.packs import CPU

FRAMES, BOARD = (4, 84, 84), (3, 10, 10)


def model(network, image=FRAMES, actions=6, activation=None, runs=1):
    return Model(network, [activation or ReLU()] * runs, {"game": Shapes(image, {"q": actions})})


def test_impala_leaves_11_by_11_places_of_84_by_84_pixels():
    built = model(Impala())
    produced = {unit.name: unit.produced for unit in built.units}
    assert produced["stack1.block1.stream"] == produced["stack1.block2.conv1"] == (16, 42, 42)
    assert produced["stack2.block2.stream"] == (32, 21, 21)
    assert produced["stream"] == produced["stack3.block2.conv1"] == (32, 11, 11)
    hidden = built.design.layer("hidden")
    assert hidden.size == 512 * (3872 + 1)
    # Counted once by flax: the encoder's parameters, and its operations for one image.
    assert built.size - hidden.size - 6 * 513 == 97_744
    assert 2 * (built.work() - hidden.work - 6 * 512) == pytest.approx(106.5e6, rel=0.01)


@pytest.mark.parametrize(("pooled", "places"), [(True, 25), (False, 100)])
def test_a_board_becomes_25_or_100_places_of_16_channels(pooled, places):
    built = model(SmallImpala(pooled=pooled), BOARD)
    assert np.prod(built.units[-2].produced) == places * 16
    assert built.design.layer("hidden").inputs == places * 16
    assert [unit.produced[0] for unit in model(SmallImpala(width=4, hidden=9), BOARD).units] == [64] * 5 + [9]


def plainly(parameters, x, stacks: int, pooled: bool, margins):
    """One run's forward pass with torch's own functions; margins: of each pooling, before and behind."""

    def conv(name, x):
        weight = parameters[f"{name}.weight"][0]
        kernel = weight.t().unflatten(1, (x.shape[1], 3, 3))
        return conv2d(x, kernel, parameters[f"{name}.bias"][0, 0], padding=1)

    for number in range(1, stacks + 1):
        x = conv(f"stack{number}.conv", x)
        if pooled:
            before, behind = margins[number - 1]
            x = max_pool2d(pad(x, (before, behind, before, behind), value=-float("inf")), 3, 2)
        for block in (f"stack{number}.block{n}" for n in (1, 2)):
            x = x + conv(f"{block}.conv2", relu(conv(f"{block}.conv1", relu(x))))
    h = relu(x).flatten(1)
    h = relu(linear(h, parameters["hidden.weight"][0].t(), parameters["hidden.bias"][0, 0]))
    return linear(h, parameters["q.weight"][0].t(), parameters["q.bias"][0, 0])


@pytest.mark.parametrize(
    ("network", "image", "stacks", "pooled", "margins"),
    [
        (Impala(hidden=16), FRAMES, 3, True, [(0, 1), (0, 1), (1, 1)]),
        (SmallImpala(), BOARD, 1, True, [(0, 1)]),
        (SmallImpala(pooled=False), BOARD, 1, False, []),
    ],
    ids=["impala", "25 places", "100 places"],
)
def test_the_forward_pass_is_the_one_written_plainly(network, image, stacks, pooled, margins):
    built = model(network, image)
    parameters = built.start([3], CPU)
    x = torch.rand(1, 4, int(np.prod(image)))
    found = built.forward(parameters, {}, x, None)[0]["q"][0]
    expected = plainly(parameters, x[0].unflatten(1, image), stacks, pooled, margins)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_first_weights_are_xavier_and_in_blocks_cut_off_normal_ones():
    built = model(Impala(width=2))
    start = built.start([0], CPU)
    conv, block = start["stack2.conv.weight"][0], start["stack2.block1.conv2.weight"][0]
    bound = (6 / ((32 + 64) * 9)) ** 0.5
    assert bound * 0.99 < conv.abs().max() <= bound
    deviation = (1 / (64 * 9)) ** 0.5
    assert block.std() == pytest.approx(deviation, rel=0.02)
    assert 2.2 * deviation < block.abs().max() <= 2 * deviation / 0.8796 * 1.0001
    assert not any(value.any() for name, value in start.items() if name.endswith("bias"))
    assert model(Impala(init="lecun")).network.init_of("stack1.block1.conv1") == "lecun"


@pytest.mark.parametrize("activation", [CReLU(), SwiGLU()], ids=["adds", "drops"])
def test_what_an_activation_adds_or_drops_reaches_the_layers_behind_it_alone(activation):
    built = model(SmallImpala(), BOARD, activation=activation)
    produced = built.units[0].produced[0]
    passed = int(produced * activation.expansion)
    assert built.design.layer("stack1.conv").outputs == produced
    for name in ("stack1.block1.conv1", "stack1.block1.conv2", "stack1.block2.conv2"):
        layer = built.design.layer(name)
        assert (layer.image[0], layer.outputs) == (passed, produced)
    start = built.start([0], CPU)
    assert built.forward(start, {}, torch.rand(1, 4, 300), None)[0]["q"].shape == (1, 4, 6)


def test_a_unit_within_a_block_can_be_reset_without_a_trace_and_those_of_sums_are_not():
    """Cut off from what follows, its weights may be any: the output is that of the network without it."""
    built = model(SmallImpala(), BOARD)
    parameters = built.start([1], CPU)
    now = Now(built, parameters, {}, {})
    assert [unit.name for unit in now.units] == ["stack1.block1.conv1", "stack1.block2.conv1", "hidden"]
    assert read_by_outputs(built, parameters) == now.units[-1:]
    x, chosen = torch.rand(1, 4, 300), np.array([2, 5])
    for unit in now.units:
        cut_off(built, parameters, 0, unit, chosen)
        before = built.forward(parameters, {}, x, None)
        start_anew(built, parameters, 0, unit, chosen, host_stream(0, "a test", unit.name))
        after = built.forward(parameters, {}, x, None)
        assert not torch.equal(before[1][unit.name][:, :, chosen], after[1][unit.name][:, :, chosen])
        assert torch.equal(before[0]["q"], after[0]["q"])


def test_normalisation_stands_behind_the_layers_that_an_activation_follows():
    built = model(SmallImpala(norm="layer"), BOARD)
    normed = [name.removesuffix(".scale") for name in built.start([0], CPU) if name.endswith(".scale")]
    assert normed == ["stack1.conv", "stack1.block1.conv1", "stack1.block2.conv1", "hidden"]


def test_what_is_no_image_is_refused():
    with pytest.raises(ConfigError, match=r"network=impala takes images.*\(4,\).*network=mlp"):
        model(Impala(), (4,))
