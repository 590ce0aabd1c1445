"""What stands between a feature map and the outputs: widths, values written plainly, units, packs, refusals."""

import numpy as np
import pytest
import torch
from torch.nn.functional import linear

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.actor_critic import ActorCritic
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.encoder import headed
from plasticity_lab.networks.heads.dense import Average, Flatten
from plasticity_lab.networks.impala import Impala
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.nature import Nature
from plasticity_lab.networks.network import Noise, Shapes
from plasticity_lab.networks.small_impala import SmallImpala
from plasticity_lab.networks.small_nature import SmallNature
from plasticity_lab.networks.units import cut_off, start_anew
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.packs import CPU, differing, images, run, trained

BOARD = (2, 10, 10)
ENCODERS = {
    "cnn": CNN(channels=6, width=12, kernel=3, padding="same"),
    "nature": Nature(hidden=12),
    "small_nature": SmallNature(hidden=12),
    "small_nature, one convolution": SmallNature(hidden=12, convolutions=1),
    "impala": Impala(hidden=12),
    "small_impala": SmallImpala(hidden=12),
}
each_encoder = pytest.mark.parametrize("network", ENCODERS.values(), ids=ENCODERS)


def model(network, head, image=BOARD, activation=None, runs=1, **shapes):
    own = Shapes(image, {"q": 3}, **shapes)
    return Model(headed(network, head), [activation or ReLU()] * runs, {"game": own})


def first_dense(built):
    return next(layer for layer in built.design.layers if layer.name.startswith("hidden"))


@each_encoder
def test_flatten_is_the_network_without_a_head(network):
    plain = Model(network, [ReLU()], {"game": Shapes(BOARD, {"q": 3})})
    assert model(network, Flatten()).design == plain.design


@pytest.mark.parametrize(
    ("network", "image", "channels", "places"),
    [(Nature(), (4, 84, 84), 64, 121), (Impala(), (4, 84, 84), 32, 121), (SmallImpala(), BOARD, 16, 25)],
    ids=["nature", "impala", "small_impala"],
)
def test_flattened_there_is_a_number_for_each_place_and_averaged_one_for_each_channel(network, image, channels, places):
    assert first_dense(model(network, Flatten(), image)).inputs == channels * places
    assert first_dense(model(network, Average(), image)).inputs == channels
    both = first_dense(model(network, Average(), image, CReLU("double")))
    assert both.inputs == 2 * channels


@each_encoder
@pytest.mark.parametrize("outputs", ["plain", "noisy"])
def test_the_layer_behind_is_given_each_channels_mean_over_the_places(network, outputs):
    built = model(network, Average(), noise=Noise(0.1) if outputs == "noisy" else None)
    parameters = built.start([3], CPU)
    x = torch.from_numpy(host_stream(0, "x").normal(size=(1, 4, 200)).astype(np.float32))
    before: dict[str, torch.Tensor] = {}
    _, hidden = built.forward(parameters, {}, x, None, before=before)
    layer = first_dense(built)
    last_map = [unit for unit in built.units if unit.kind == "channel"][-1]
    given = hidden[last_map.name][0]
    if isinstance(network, CNN):
        given = torch.nn.functional.max_pool2d(given, 2)
    means = given.double().mean(dim=(2, 3)).float()
    weight, bias = (parameters[f"{layer.name}.{part}"][0] for part in ("weight", "bias"))
    torch.testing.assert_close(before[layer.name][0], linear(means, weight.T, bias[0]), rtol=1e-5, atol=1e-6)


@each_encoder
@pytest.mark.parametrize("head", [Flatten(), Average()], ids=["flatten", "average"])
def test_a_unit_that_is_cut_off_leaves_no_trace_behind_the_head(network, head):
    """What the last channels pass on lies in the rows of the head's first layer."""
    built = model(network, head, activation=CReLU("double"), runs=2)
    x = torch.from_numpy(host_stream(0, "x").normal(size=(2, 4, 200)).astype(np.float32))
    chosen, shape = np.arange(4), on_run_axis(built.activations)
    for unit in (unit for unit in built.units if not unit.is_sum):
        parameters = built.start([0, 1], CPU)
        whole = built.forward(parameters, shape, x, None)[0]["q"]
        cut_off(built, parameters, 1, unit, chosen)
        cut = built.forward(parameters, shape, x, None)[0]["q"]
        start_anew(built, parameters, 1, unit, chosen, host_stream(3, "fresh", unit.name))
        assert torch.equal(built.forward(parameters, shape, x, None)[0]["q"], cut)
        assert torch.equal(cut[0], whole[0])
        assert not torch.equal(cut[1], whole[1])


def test_an_activation_that_matches_parameters_counts_those_of_the_head():
    for network in (Nature(), Impala()):
        plain, matched = (model(network, Average(), activation=each) for each in (ReLU(), CReLU("matched")))
        assert plain.size <= matched.size <= 1.1 * plain.size


@pytest.mark.parametrize("network", [MLP(), ActorCritic()], ids=["mlp", "actor_critic"])
def test_a_network_without_a_feature_map_takes_no_other_head_than_flatten(network):
    assert headed(network, Flatten()) is network
    with pytest.raises(ConfigError, match=rf"{type(network).__name__}.*head=flatten.*network=nature"):
        headed(network, Average())


@pytest.mark.walk(2)
@pytest.mark.parametrize("activation", ["relu", "rand_smooth_leaky"])
@pytest.mark.parametrize(
    "network",
    [
        {"name": "small_impala", "hidden": 30},
        {"name": "impala", "hidden": 30},
        {"name": "small_nature", "convolutions": 1, "hidden": 30},
        {"name": "small_impala", "hidden": 30, "norm": "layer", "pooled": False},
    ],
    ids=["small_impala", "impala", "one convolution", "normed, all places"],
)
@pytest.mark.parametrize("head", ["flatten", "average"])
def test_a_run_is_the_same_alone_and_at_every_place_of_a_pack(network, activation, head):
    stream = {"images": 36, "batch_size": 17, "network": network, "head": head}
    image_set, ours = images(9, 36, 20), run(1, activation, **stream)
    alone = trained([ours], image_set).of(0)
    assert np.isfinite(alone["loss"]).all()
    for runs, place in ((2, 1), (3, 0), (5, 3), (6, 5), (8, 2)):
        mates = [run(100 + k, activation, optimizer={"lr": 10.0 ** -(2 + k % 3)}, **stream) for k in range(runs)]
        mates[place] = ours
        assert not differing(alone, trained(mates, image_set).of(place)), f"place {place} of {runs}"
