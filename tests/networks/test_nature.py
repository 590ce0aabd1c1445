"""The encoders of value agents: strides, margins as JAX has them, sizes and numbers of parameters."""

from math import prod

import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d, linear, pad, relu

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.nature import Nature
from plasticity_lab.networks.network import Shapes
from plasticity_lab.networks.small_nature import SmallNature
from plasticity_lab.randomness.host import host_stream
from tests.helpers.packs import CPU

FRAMES, BOARD = (4, 84, 84), (1, 10, 5)


def model(network, image=FRAMES, actions=3, activation=None, runs=1):
    return Model(network, [activation or ReLU()] * runs, {"catch": Shapes(image, {"q": actions})})


def test_nature_leaves_11_by_11_places_of_84_by_84_pixels():
    built = model(Nature(), actions=6)
    assert {unit.name: (unit.produced, unit.kind) for unit in built.units} == {
        "conv1": ((32, 21, 21), "channel"),
        "conv2": ((64, 11, 11), "channel"),
        "conv3": ((64, 11, 11), "channel"),
        "hidden1": ((512,), "unit"),
    }
    sizes = {layer.name: layer.size for layer in built.design.layers}
    assert sizes == {
        "conv1": 32 * (4 * 64 + 1),
        "conv2": 64 * (32 * 16 + 1),
        "conv3": 64 * (64 * 9 + 1),
        "hidden1": 512 * (121 * 64 + 1),
        "q": 6 * 513,
    }
    convolutions = 21**2 * 32 * 4 * 64 + 11**2 * 64 * (32 * 16 + 64 * 9)
    assert built.work() == convolutions + 512 * 7744 + 6 * 512
    assert 2 * convolutions == pytest.approx(24.1e6, rel=0.01)  # the operations that flax counts


def test_with_valid_padding_nature_is_that_of_2015():
    built = model(Nature(padding="valid"))
    assert [unit.produced for unit in built.units] == [(32, 20, 20), (64, 9, 9), (64, 7, 7), (512,)]
    with pytest.raises(ConfigError, match=r"network=nature.*conv3.*3 × 3.*2 × 2"):
        model(Nature(padding="valid"), (4, 35, 35))


@pytest.mark.parametrize(("width", "hidden"), [(2, 512), (1, 2048)])
def test_width_scales_the_channels_and_hidden_is_the_layer_behind(width, hidden):
    built = model(Nature(width=width, hidden=hidden))
    assert [unit.produced[0] for unit in built.units] == [32 * width, 64 * width, 64 * width, hidden]


@pytest.mark.parametrize(
    ("network", "image"),
    [(Nature(), FRAMES), (Nature(), (1, 21, 13)), (SmallNature(), BOARD), (SmallNature(stride=4), (1, 84, 84))],
)
def test_its_values_are_those_of_pytorchs_layers_within_jaxs_margins(network, image):
    built = model(network, image)
    parameters = {name: value + 0.01 for name, value in built.start([3], CPU).items()}
    x = torch.from_numpy(host_stream(0, "x").normal(size=(1, 4, prod(image))).astype(np.float32))
    (outputs, _), h = built.forward(parameters, {}, x, None), x.view(4, *image)
    for layer in built.design.layers:
        weight = parameters[f"{layer.name}.weight"][0, :, : layer.outputs].T
        bias = parameters[f"{layer.name}.bias"][0, 0, : layer.outputs]
        if layer.name.startswith("conv"):
            within = []
            for side in (h.shape[3], h.shape[2]):  # the last axis first, as pad wants it
                needed = max((-(-side // layer.stride) - 1) * layer.stride + layer.kernel - side, 0)
                within += [needed // 2, needed - needed // 2]
            kernel = weight.reshape(layer.outputs, layer.image[0], layer.kernel, layer.kernel)
            h = relu(conv2d(pad(h, within), kernel, bias, stride=layer.stride))
        else:
            h = linear(h.flatten(1), weight, bias)
            h = h if layer.name == "q" else relu(h)
    torch.testing.assert_close(outputs["q"][0], h, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layer", ["conv2", "hidden1"])
def test_xavier_weights_are_uniform_by_fan_in_and_fan_out_whatever_the_activation(layer):
    """flax's xavier_uniform: a convolution's fans are its channels times the pixels of the kernel."""
    weight = model(Nature(), activation=LeakyReLU(0.3)).start([0], CPU)[f"{layer}.weight"]
    bound = np.sqrt(6 / ((32 + 64) * 16)) if layer == "conv2" else np.sqrt(6 / (7744 + 512))
    assert float(weight.abs().max()) == pytest.approx(bound, rel=1e-3)
    assert float(weight.std()) == pytest.approx(bound / np.sqrt(3), rel=0.02)


@pytest.mark.parametrize(
    "network", [MLP(), Nature(), SmallNature(), SmallNature(stride=2)], ids=lambda n: repr(vars(n))
)
@pytest.mark.parametrize("image", [(1, 10, 5), (4, 84, 84)])
def test_a_value_agent_gets_a_number_for_each_action(network, image):
    built = model(network, image, runs=2)
    outputs, _ = built.forward(built.start([0, 1], CPU), {}, torch.zeros(2, 4, prod(image)), None)
    assert {name: value.shape for name, value in outputs.items()} == {"q": (2, 4, 3)}


def test_what_is_no_image_is_refused():
    with pytest.raises(ConfigError, match=r"network=small_nature.*\(4,\).*network=mlp"):
        model(SmallNature(), (4,))


@pytest.mark.parametrize("settings", [{"width": 0}, {"hidden": 0}, {"padding": "full"}, {"init": "orthogonal"}])
@pytest.mark.parametrize("network", [Nature, SmallNature])
def test_settings_out_of_range_are_refused(network, settings):
    with pytest.raises(ConfigError, match=f"network.{next(iter(settings))} is"):
        network(**settings)


def test_an_activation_that_matches_parameters_narrows_every_layer():
    plain, matched = model(Nature()), model(Nature(), activation=CReLU("matched"))
    assert matched.size == pytest.approx(plain.size, rel=0.05)
