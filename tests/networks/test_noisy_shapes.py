"""Networks whose dense layers are noisy, because the agent's shapes ask for it."""

from math import prod

import numpy as np
import pytest
import torch

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.agents.update import drawn
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.actor_critic import ActorCritic
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.nature import Nature
from plasticity_lab.networks.network import Noise, Shapes
from plasticity_lab.networks.small_nature import SmallNature
from plasticity_lab.networks.units import cut_off, start_anew
from plasticity_lab.randomness.device import run_keys
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.noisy import StackedNoisyLinear
from plasticity_lab.stacking.normed import linear_of
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.packs import CPU

BOARD = (2, 10, 10)
NETWORKS = {
    "mlp": MLP(width=12, depth=1),
    "mlp with norms": MLP(width=12, depth=2, norm="layer"),
    "cnn": CNN(channels=6, width=12, kernel=3),
    "nature": Nature(hidden=12),
    "small_nature": SmallNature(hidden=12, norm="layer"),
}
OUTPUTS = {"q": {"q": 3}, "dueling": {"value": 5, "advantage": 15}}
each_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


def model(network, outputs=None, sigma=0.1, activation=None, runs=2):
    shapes = Shapes(BOARD, outputs or OUTPUTS["dueling"], noise=None if sigma is None else Noise(sigma))
    return Model(network, [activation or ReLU()] * runs, {"game": shapes})


def dense(built):
    return [linear_of(layer) for layer in built.design.layers if not layer.name.startswith("conv")]


@each_network
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_the_layers_behind_the_encoder_are_noisy_and_no_other(network, outputs):
    built, plain = (model(network, OUTPUTS[outputs], sigma) for sigma in (0.3, None))
    assert all(isinstance(layer, StackedNoisyLinear) and layer.sigma == 0.3 for layer in dense(built))
    assert [layer.name for layer in built.design.layers] == [layer.name for layer in plain.design.layers]
    assert built.noise(4) == sum(layer.noise(4) for layer in dense(built)) > 0
    assert plain.noise(4) == 0
    assert built.size - plain.size == sum(layer.linear.size for layer in dense(built)), "a deviation for each mean"
    start = built.start([0, 1], CPU)
    for layer in dense(built):
        deviations = start[f"{layer.name}.sigma"][..., : layer.outputs]
        assert torch.equal(deviations, torch.full_like(deviations, 0.3 / np.sqrt(layer.inputs)))


@each_network
def test_noise_is_there_in_training_differs_by_example_and_is_none_in_evaluation(network):
    built, plain = (model(network, sigma=sigma) for sigma in (0.1, None))
    parameters, keys = built.start([0, 1], CPU), {"noise": run_keys(range(2), "noise")}
    x = torch.from_numpy(host_stream(0, "x").normal(size=(2, 1, prod(BOARD))).astype(np.float32)).expand(-1, 4, -1)
    still, _ = built.forward(parameters, {}, x, None)
    means = {name: value for name, value in parameters.items() if "sigma" not in name}
    for name, value in plain.forward(means, {}, x, None)[0].items():
        torch.testing.assert_close(still[name], value, rtol=0, atol=0)
        noisy = built.forward(parameters, {}, x, None, **drawn(built, keys, torch.tensor(1), 4))[0][name]
        assert not torch.equal(noisy[:, 0], noisy[:, 1]), "the examples are equal, and their noise is not"
        torch.testing.assert_close(still[name][:, 0], still[name][:, 1])


@each_network
def test_two_models_that_differ_in_noise_alone_are_not_the_same_functions(network):
    keys = {model(network, sigma=sigma).structure_key for sigma in (None, 0.1, 0.5)}
    assert len(keys) == 3


@each_network
@pytest.mark.parametrize("activation", [LeakyReLU(0.3), CReLU()], ids=["leaky_relu", "crelu"])
def test_a_unit_before_or_behind_noise_is_cut_off_and_begun_anew_with_its_deviations(network, activation):
    built, keys = model(network, activation=activation), {"noise": run_keys(range(2), "noise")}
    chosen = np.arange(3)
    x = torch.from_numpy(host_stream(0, "x").normal(size=(2, 4, prod(BOARD))).astype(np.float32))
    noise = drawn(built, keys, torch.tensor(1), 4)

    def value():
        return built.forward(parameters, on_run_axis(built.activations), x, None, **noise)[0]["value"]

    for unit in built.units:
        parameters = built.start([0, 1], CPU)
        for layer in (unit.incoming, *unit.outgoing):
            if f"{layer}.sigma" in parameters:
                parameters[f"{layer}.sigma"].mul_(1.5)
        before = value()
        cut_off(built, parameters, 1, unit, chosen)
        cut = value()
        assert torch.equal(cut[0], before[0])
        assert not torch.equal(cut[1], before[1])
        start_anew(built, parameters, 1, unit, chosen, host_stream(3, "fresh", unit.name))
        if network.norm == "none":  # a normalisation tells all units of a layer of each other
            assert torch.equal(value(), cut)
        if f"{unit.incoming}.sigma" in parameters:
            layer = linear_of(built.design.layer(unit.incoming))
            fresh = parameters[f"{layer.name}.sigma"][1][:, chosen]
            torch.testing.assert_close(fresh, torch.full_like(fresh, 0.1 / np.sqrt(layer.inputs)))


def test_a_network_without_noisy_layers_says_so():
    bodies = {"walker": Shapes((4,), {"policy": 2, "value": 1}, noise=Noise(0.1))}
    with pytest.raises(ConfigError, match=r"noisy.*ActorCritic.*network=mlp"):
        Model(ActorCritic(width=6), [ReLU()], bodies)
