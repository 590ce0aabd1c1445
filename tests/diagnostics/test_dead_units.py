"""Dead pairs and dead units, of pre-activations that are chosen by hand."""

import pytest
import torch

from plasticity_lab.activations.activation import Site
from plasticity_lab.diagnostics.dead_units import DeadUnits, dead_pairs
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.mlp import MLP
from tests.helpers.networks import classifier
from tests.helpers.packs import choices
from tests.helpers.shown import built, seen, view_given, view_of

FAR = 50.0


def given(before, name, **settings):
    """What dead_units finds where hidden1 is given these numbers, (B, 4), and hidden2 what hidden1 passes on."""
    return seen(DeadUnits(), view_given(before, name, **settings))


# Units: always negative; never; on one example of four; exactly zero.
BEFORE = [[-1.0, 2.0, 3.0, 0.0], [-2.0, 3.0, -1.0, 0.0], [-3.0, 4.0, -2.0, 0.0], [-4.0, 5.0, -3.0, 0.0]]


def test_of_relu_what_is_at_zero_is_dead():
    found = given(BEFORE, "relu")
    assert found["dead_pairs_hidden1"] == found["dead_pairs_hidden2"] == found["dead_pairs"] == 11 / 16
    assert found["dead_units_hidden1"] == found["dead_units"] == 2 / 4
    assert given([[1e-6, 1e-4, 1.0, 1.0]] * 4, "relu")["dead_units"] == 1 / 4, "the margin is 1e-5"


def test_the_whole_network_weighs_layers_by_their_pairs():
    """hidden2 has the sum of all inputs in its first unit and nothing in the others, which are dead then."""
    activations = [built("relu")]
    model = classifier(MLP(depth=2, width=4), activations, (1, 1, 4), 2)
    parameters = {key: torch.zeros_like(value) for key, value in model.start([0], torch.device("cpu")).items()}
    parameters["hidden1.weight"][0] = torch.eye(4)
    parameters["hidden2.weight"][0, :, 0] = 1.0
    found = DeadUnits().look(view_of(model, parameters, torch.ones(1, 4, 4), activations))
    assert {name: value.item() for name, value in found.items()} == {
        "dead_pairs_hidden1": 0, "dead_units_hidden1": 0, "dead_pairs_hidden2": 0.75, "dead_units_hidden2": 0.75,
        "dead_pairs": 0.375, "dead_units": 0.375,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "settings", "before", "dead"),
    [
        # At 0.98 and 0.02, at ± 0.98.
        ("sigmoid", {}, [-FAR, -3.9, -3.8, 0.0, 3.8, 3.9, FAR], [1, 1, 0, 0, 0, 1, 1]),
        ("tanh", {}, [-FAR, -2.3, -2.2, 0.0, 2.2, 2.3, FAR], [1, 1, 0, 0, 0, 1, 1]),
        # Below -α + 0.02; and what is small beside the others.
        ("elu", {"alpha": 1.0}, [-FAR, -4.0, -3.8, -1.0, 1.0, FAR, FAR], [1, 1, 1, 1, 1, 0, 0]),
        ("elu", {"alpha": 1.0}, [-FAR, -4.0, -3.8, -1.0, 0.001, 1.0, 2.0], [1, 1, 0, 0, 1, 0, 0]),
        ("elu", {"alpha": 3.0}, [-FAR, -5.1, -5.0, -1.0, 0.001, 1.0, 2.0], [1, 1, 0, 0, 1, 0, 0]),
        ("celu", {"alpha": 2.0}, [-FAR, -9.3, -9.1, -1.0, 0.001, 1.0, 2.0], [1, 1, 0, 0, 1, 0, 0]),
        ("selu", {"alpha": 2.0}, [-FAR, -4.7, -4.6, -1.0, 0.001, 1.0, 2.0], [1, 1, 0, 0, 1, 0, 0]),
        ("rselu", {"lower": 1.0, "upper": 3.0}, [-FAR, -4.7, -4.6, -1.0, 0.001, 1.0, 2.0], [1, 1, 0, 0, 1, 0, 0]),
        # The deviation of these is 1 up to a tenth: 0.05 of it is between 0.04 and 0.06.
        ("leaky_relu", {"negative_slope": 1.0}, [-1.4, -1.2, -0.06, -0.04, 0.06, 1.3, 1.4], [0, 0, 0, 1, 0, 0, 0]),
        ("leaky_relu", {"negative_slope": 0.01}, [-1.0, -3.0, 1.0, 2.0, 3.0], [1, 1, 0, 0, 0]),
        ("swish", {}, [-FAR, -FAR, 0.0, 2.0, 3.0], [1, 1, 1, 0, 0]),
        ("gelu", {}, [-FAR, -FAR, 0.0, 2.0, 3.0], [1, 1, 1, 0, 0]),
    ],
)  # fmt: skip
def test_each_familys_criterion(name, settings, before, dead):
    activation = built(name, **settings)
    shape = {key: torch.tensor([value]) for key, value in activation.on_run_axis().items()}
    h = activation(torch.tensor(before).view(1, -1, 1), Site(shape, {}))
    assert dead_pairs(activation, shape, h).flatten().int().tolist() == dead


@pytest.mark.parametrize("name", [name for name in choices("activation") if name != "deep_fourier"])
def test_a_layer_that_gives_zero_everywhere_is_wholly_dead(name):
    activation = built(name)
    shape = {key: torch.tensor([value] * 2) for key, value in activation.on_run_axis().items()}
    h = torch.zeros(2, 4, 3)
    h[1, 2, 1] = 0.5
    dead = dead_pairs(activation, shape, h)
    assert dead[0].all()
    assert not dead[1, 2, 1]


def test_of_units_that_pass_on_several_values():
    """CReLU passes z on and −z: one of both is always zero, and a unit is dead if both always are. Sines never die."""
    activations = [built("crelu")]
    model = classifier(MLP(depth=1, width=4), activations, (1, 1, 4), 2)
    parameters = {key: torch.zeros_like(value) for key, value in model.start([0], torch.device("cpu")).items()}
    parameters["hidden1.weight"][0, :2, :2] = torch.eye(2)
    x = torch.tensor([[[1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]] * 2])
    found = DeadUnits().look(view_of(model, parameters, x, activations))
    assert (found["dead_pairs"].item(), found["dead_units"].item()) == (0.75, 0.5)
    fourier = built("deep_fourier")
    assert not dead_pairs(fourier, {}, torch.zeros(1, 4, 4)).any()


def test_a_channel_is_dead_where_all_of_its_pixels_are():
    activations = [built("relu")]
    model = classifier(CNN(channels=4, width=4, kernel=3, padding="same"), activations, (1, 4, 4), 2)
    parameters = {key: torch.zeros_like(value) for key, value in model.start([0], torch.device("cpu")).items()}
    found = DeadUnits().look(view_of(model, parameters, torch.zeros(1, 4, 16), activations))
    assert found["dead_units"].item() == found["dead_pairs"].item() == 1
    first = model.units[0]
    parameters[f"{first.incoming}.bias"].flatten()[0] = 1.0
    found = DeadUnits().look(view_of(model, parameters, torch.zeros(1, 4, 16), activations))
    assert found[f"dead_units_{first.name}"].item() == found[f"dead_pairs_{first.name}"].item() == 0.75


def test_runs_of_a_pack_are_judged_by_their_own_settings():
    activations = [built("elu", alpha=1.0), built("elu", alpha=3.0)]
    shape = {"alpha": torch.tensor([1.0, 3.0])}
    h = torch.tensor([-0.99, 1.0, 2.0, 3.0]).view(1, 4, 1).expand(2, 4, 1)
    assert dead_pairs(activations[0], shape, h).sum(dim=(1, 2)).tolist() == [1, 0]


@pytest.mark.parametrize("name", choices("activation"))
def test_every_activation_has_a_share_for_each_place(name):
    activations = [built(name)] * 2
    model = classifier(MLP(depth=2, width=8), activations, (1, 2, 4), 3)
    parameters = model.start([0, 1], torch.device("cpu"))
    found = DeadUnits().look(
        view_of(model, parameters, torch.randn(2, 16, 8, generator=torch.Generator()), activations)
    )
    assert found.keys() == {column.name for column in DeadUnits().columns(model.units)}
    assert all(((0 <= value) & (value <= 1)).all() for value in found.values())


def test_a_run_with_values_that_are_not_finite_has_no_number():
    activations = [built("tanh")] * 2
    model = classifier(MLP(depth=2, width=4), activations, (1, 1, 4), 2)
    parameters = model.start([0, 1], torch.device("cpu"))
    parameters["hidden2.bias"][1, 0, 0] = float("nan")
    view = view_of(model, parameters, torch.ones(2, 4, 4), activations)
    found = view.if_finite(DeadUnits().look(view))
    assert all(value.isfinite().tolist() == [True, False] for value in found.values())
