from types import SimpleNamespace

import numpy as np
import pytest
import torch

from plasticity_lab.activations.activation import Activation, Learnable, Site
from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.deep_fourier import DeepFourier
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.prelu import PReLU
from plasticity_lab.activations.rational import Rational
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.swiglu import SwiGLU
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.building import fitted, narrower
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.randomness.host import host_stream
from tests.helpers.networks import classifier, logits
from tests.helpers.packs import CPU

MNIST, DIGITS = (1, 28, 28), (1, 8, 8)


class Slopes(Activation):
    """A value of each layer and one that all layers share; a number for each element."""

    randomised = True

    def __init__(self, start: float = 0.25) -> None:
        self.start, self.taken = start, []

    def __call__(self, x, site):
        self.taken.append(site.uniform)
        return x * site.learned["own"].unsqueeze(1) + site.learned["common"].unsqueeze(1)

    def learnable(self, produced):
        return {"own": Learnable([self.start] * produced), "common": Learnable([self.start], shared=True)}

    def gain(self):
        return 1.0


def model(activation=None, image=MNIST, network=None, runs=1):
    return classifier(network or MLP(), [activation or ReLU()] * runs, image, 10)


@pytest.mark.parametrize(
    ("activation", "produced", "size"),
    [
        (ReLU(), 100, 89_610),
        (CReLU("half"), 50, 45_310),
        (DeepFourier("half"), 50, 45_310),
        (CReLU("matched"), 91, 89_918),
        (DeepFourier("matched"), 91, 89_918),
        (CReLU("double"), 100, 100_610),
        (SwiGLU("double"), 200, 178_210),
        (SwiGLU("half"), 100, 84_110),
        (PReLU("global"), 100, 89_611),
        (PReLU("layer"), 100, 89_612),
        (PReLU("neuron"), 100, 89_810),
        (Rational("A"), 100, 89_630),
        (Rational("C"), 100, 89_632),
    ],
)
def test_parameters_are_as_many_as_published(activation, produced, size):
    """2 × 100 on MNIST; of Rational 10 a layer, in version C 11."""
    built = model(activation)
    assert [unit.produced for unit in built.units] == [(produced,), (produced,)]
    assert built.size == size


def test_matching_trims_the_most_that_leaves_no_fewer_parameters():
    def size(plain: int, activation: Activation) -> int:
        designs = [SimpleNamespace(size=1000 - 10 * percent) for percent in range(100)]
        return fitted(activation, lambda: SimpleNamespace(size=plain), designs.__getitem__).size

    assert [size(plain, CReLU("matched")) for plain in (905, 900, 10**9)] == [910, 900, 1000]
    assert size(905, CReLU("double")) == 1000
    assert [narrower(16, percent) for percent in (0, 27, 31, 99)] == [16, 11, 11, 1]


def test_units_say_which_layers_stand_around_them():
    units = model(network=MLP(width=20, depth=3)).units
    assert [(unit.incoming, unit.name, unit.outgoing) for unit in units] == [
        ("hidden1", "hidden1", ("hidden2",)),
        ("hidden2", "hidden2", ("hidden3",)),
        ("hidden3", "hidden3", ("output",)),
    ]


@pytest.mark.parametrize("activation", [LeakyReLU(0.3), CReLU("double"), CReLU("matched"), SwiGLU()])
def test_the_forward_pass_is_a_plain_one_for_every_run(activation):
    built = model(activation, DIGITS, MLP(width=37, depth=2), runs=3)
    parameters = built.start([3, 1, 2], CPU)
    x_KBD = torch.from_numpy(host_stream(0, "x").normal(size=(3, 5, 64)).astype(np.float32))
    shape = {name: torch.full((3,), value) for name, value in activation.on_run_axis().items()}
    logits_KBO, hidden = logits(built, parameters, shape, x_KBD, None)
    assert logits_KBO.shape == (3, 5, 10)
    for k in range(3):
        x = x_KBD[k]
        one = {name: value[k : k + 1] for name, value in shape.items()}
        for layer in built.design.layers:
            weight, bias = (parameters[f"{layer.name}.{part}"][k, :, : layer.outputs] for part in ("weight", "bias"))
            x = x @ weight + bias
            if layer.name != "output":
                x = activation(x.unsqueeze(0), Site(one, {}))[0]
                torch.testing.assert_close(hidden[layer.name][k], x, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(logits_KBO[k], x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("init", ["default", "kaiming"])
@pytest.mark.parametrize("activation", [LeakyReLU(0.5), Slopes()], ids=["leaky", "learnable"])
def test_a_runs_first_parameters_are_a_function_of_its_seed_alone(activation, init):
    network = MLP(width=37, init=init)
    alone = model(activation, network=network).start([5], CPU)
    packed = model(activation, network=network, runs=4).start([0, 9, 5, 6], CPU)
    assert alone.keys() == packed.keys()
    for name in alone:
        assert torch.equal(packed[name][2], alone[name][0]), name
    assert not torch.equal(packed["hidden1.weight"][0], packed["hidden1.weight"][1])


def test_layers_of_one_size_start_differently():
    parameters = model(network=MLP(width=784, depth=2)).start([0], CPU)
    assert not torch.equal(parameters["hidden1.weight"], parameters["hidden2.weight"])


def test_default_start_has_pytorchs_bounds():
    parameters = model().start([0], CPU)
    for layer, inputs in (("hidden1", 784), ("hidden2", 100), ("output", 100)):
        for part, within in (("weight", 0.99), ("bias", 0.7)):
            largest = float(parameters[f"{layer}.{part}"].abs().max()) * inputs**0.5
            assert within < largest <= 1 + 1e-6, (layer, part)


def test_kaiming_start_uses_each_runs_own_gain_and_none_before_the_logits():
    built = classifier(MLP(init="kaiming"), [LeakyReLU(0.0), LeakyReLU(1.0)], MNIST, 10)
    parameters = built.start([0, 0], CPU)
    for layer, inputs, gains in (("hidden1", 784, (2, 1)), ("hidden2", 100, (2, 1)), ("output", 100, (1, 1))):
        for k, squared in enumerate(gains):
            variance = float(parameters[f"{layer}.weight"][k].square().mean()) * inputs
            assert variance == pytest.approx(squared, rel=0.06), (layer, k)
        assert not parameters[f"{layer}.bias"].any()


def test_learnable_values_start_where_each_run_says_and_are_known_by_name():
    built = classifier(MLP(width=7), [Slopes(0.25), Slopes(0.5)], DIGITS, 10)
    parameters = built.start([0, 0], CPU)
    learned = {name: value for name, value in parameters.items() if name in built.learned_by_activation}
    assert {name: tuple(value.shape) for name, value in learned.items()} == {
        "hidden1.activation.own": (2, 7),
        "hidden2.activation.own": (2, 7),
        "activation.common": (2, 1),
    }
    for value in learned.values():
        assert (value[0] == 0.25).all()
        assert (value[1] == 0.5).all()


def test_every_element_before_an_activation_gets_a_number_of_its_own():
    built = model(Slopes(), DIGITS, MLP(width=7, depth=2))
    numbers = torch.arange(built.draws(5)).reshape(1, -1).float()
    built.forward(built.start([0], CPU), {}, torch.zeros(1, 5, 64), numbers)
    taken = built.activation.taken
    assert [tuple(uniform.shape) for uniform in taken] == [(1, 5, 7), (1, 5, 7)]
    assert torch.equal(torch.cat([uniform.flatten() for uniform in taken]), numbers.flatten())
    assert model(ReLU()).draws(5) == 0


@pytest.mark.parametrize("settings", [{"width": 0}, {"depth": 0}, {"init": "xavier"}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ConfigError, match=f"network.{next(iter(settings))} is"):
        MLP(**settings)
