"""Squares of gradients, example by example, against a slow reference: a backward pass for each of them alone."""

import numpy as np
import pytest
import torch

from plasticity_lab.activations.activation import Activation
from plasticity_lab.agents.ppo.policy import log_probability
from plasticity_lab.agents.supervised.step import log_likelihood
from plasticity_lab.component import build
from plasticity_lab.errors import OwnClassError
from plasticity_lab.networks.actor_critic import ActorCritic
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.cnn_case_study import CNNCaseStudy
from plasticity_lab.networks.heads.softmoe import SoftMoE
from plasticity_lab.networks.heads.tokenised import Tokenised
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Design, Network, Shapes
from plasticity_lab.networks.per_example import squared_gradients
from plasticity_lab.networks.small_nature import SmallNature
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier, one_by_one
from tests.helpers.packs import CPU, choice

SEEDS = [0, 1, 2]


def activations(name: str, **settings) -> list[Activation]:
    target, usual = choice("activation", name)
    return [build("activation", name, target, usual | settings)] * len(SEEDS)


def normal(*shape) -> torch.Tensor:
    return torch.from_numpy(host_stream(0, "examples", *shape).normal(size=shape).astype(np.float32))


def same(found, expected) -> None:
    for name, value in expected.items():
        assert value.any() or name not in found or not found[name].any(), name
        if name in found:
            assert found[name].shape == value.shape, name
            scale = float(value.abs().max())
            torch.testing.assert_close(found[name], value, rtol=1e-3, atol=1e-4 * scale + 1e-12)
        else:
            assert not value.any(), name


@pytest.mark.parametrize(
    ("network", "activation", "settings"),
    [
        (MLP(width=7), "prelu", {}),
        (MLP(width=1, depth=1), "relu", {}),
        (MLP(width=6, norm="layer"), "prelu", {"scope": "neuron"}),
        (MLP(width=8), "crelu", {}),
        (CNN(channels=3, kernel=3, width=5), "prelu", {"scope": "layer"}),
        (CNN(channels=2, kernel=3, width=5, padding="same", norm="layer"), "rational", {}),
        (CNNCaseStudy(channels=2, width=5), "swiglu", {}),
        (MLP(width=5), "rrelu", {}),
    ],
)
def test_a_classifiers_are_those_of_each_example_by_itself(network, activation, settings):
    pack = activations(activation, **settings)
    model = classifier(network, pack, (2, 10, 10), 5)
    parameters, shape = model.start(SEEDS, CPU), on_run_axis(pack)
    x, labels = normal(3, 5, 200), torch.arange(15).view(3, 5) % 5
    found = squared_gradients(model, parameters, shape, None, x, labels, log_likelihood)
    assert found.keys() == parameters.keys()
    same(found, one_by_one(model, parameters, shape, None, x, labels, log_likelihood))


@pytest.mark.parametrize("body", ["mover", "chooser"])
def test_a_policys_are_those_of_the_active_body_and_none_of_the_value(body):
    """The chooser's answers are a choice of three; the mover's are Gaussian, with a learned deviation."""
    pack = activations("prelu")
    bodies = {
        "mover": Shapes((5,), {"policy": 2, "value": 1}, {"log_std": 2}),
        "chooser": Shapes((4,), {"policy": 3, "value": 1}),
    }
    model = Model(ActorCritic(width=6, separate_value_trunk=True, learn_input_scale=True), pack, bodies)
    parameters = model.active(model.start(SEEDS, CPU), body)
    actions = normal(3, 7, 2) if body == "mover" else torch.arange(21).view(3, 7) % 3
    given = parameters, on_run_axis(pack), body, normal(3, 7, 5 if body == "mover" else 4), actions, log_probability
    found = squared_gradients(model, *given)
    assert found.keys() == parameters.keys()
    same(found, one_by_one(model, *given))
    for name, value in found.items():
        assert bool(value.any()) is not (".value." in name or name.startswith("value_trunk")), name


@pytest.mark.parametrize(
    "network",
    [
        CNN(channels=3, kernel=3, width=5, norm="layer"),
        SmallNature(hidden=5, convolutions=1).headed(Tokenised()),
        SmallNature(hidden=5, convolutions=1).headed(SoftMoE(2, slots=3, normalised=True)),
    ],
    ids=["cnn", "tokenised", "normalised router"],
)
def test_a_run_alone_gets_the_same_bits(network):
    pack = activations("prelu")
    model = classifier(network, pack, (1, 10, 10), 5)
    parameters, x, labels = model.start(SEEDS, CPU), normal(3, 6, 100), torch.arange(18).view(3, 6) % 5
    packed = squared_gradients(model, parameters, on_run_axis(pack), None, x, labels, log_likelihood)
    own = {name: value[1:2].clone() for name, value in parameters.items()}
    alone = squared_gradients(
        model, own, on_run_axis(pack[:1]), None, x[1:2].clone(), labels[1:2].clone(), log_likelihood
    )
    for name, value in alone.items():
        assert torch.equal(value[0], packed[name][1]), name


class OfHalves(Network):
    """One layer for both halves of an example, and the sum of what it answers.  at_once: whether it is called once."""

    init = "default"

    def __init__(self, at_once: bool, positions: int) -> None:
        self.at_once, self.positions = at_once, positions

    def design(self, bodies, activation):
        return Design([StackedLinear("output", 4, 3, self.positions)], [], {"logits": "output"})

    def forward(self, design, parameters, x_KBD, activate, body):
        layer, halves = design.layers[0], x_KBD.unflatten(2, (2, 4))
        if self.at_once:
            return {"logits": layer(parameters, halves.flatten(1, 2)).unflatten(1, (-1, 2)).sum(dim=2)}
        return {"logits": sum(layer(parameters, half.contiguous()) for half in halves.unbind(2))}


def of_halves(at_once: bool, positions: int):
    pack = activations("relu")
    model = classifier(OfHalves(at_once, positions), pack, (1, 2, 4), 3)
    parameters, x = model.start(SEEDS, CPU), normal(3, 4, 8)
    return model, parameters, {}, None, x, torch.arange(12).view(3, 4) % 3, log_likelihood


def test_a_layer_of_ones_own_says_how_many_rows_an_example_has():
    given = of_halves(True, 2)
    same(squared_gradients(*given), one_by_one(*given))


@pytest.mark.parametrize(("at_once", "parts"), [(True, ("8 rows", "4 examples")), (False, ("2 times", "one call"))])
def test_rows_that_are_no_examples_are_refused(at_once, parts):
    with pytest.raises(OwnClassError) as caught:
        squared_gradients(*of_halves(at_once, 1))
    for part in ("output", "positions", *parts):
        assert part in str(caught.value)
