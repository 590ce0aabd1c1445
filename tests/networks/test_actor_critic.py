import numpy as np
import pytest
import torch

from plasticity_lab.activations.activation import Site
from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.prelu import PReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.rrelu import RReLU
from plasticity_lab.activations.swiglu import SwiGLU
from plasticity_lab.activations.tanh import Tanh
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.actor_critic import ActorCritic
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.randomness.host import host_stream
from tests.helpers.packs import CPU

HOPPER = Shapes((11,), {"policy": 3, "value": 1}, {"log_std": 3})
ANT = Shapes((105,), {"policy": 8, "value": 1}, {"log_std": 8})
CARTPOLE = Shapes((4,), {"policy": 2, "value": 1})


def model(activation=None, bodies=None, runs=1, **settings):
    return Model(ActorCritic(**settings), [activation or ReLU()] * runs, bodies or {"hopper": HOPPER, "ant": ANT})


def inputs(runs, numbers):
    return torch.from_numpy(host_stream(0, "x").normal(size=(runs, 8, numbers)).astype(np.float32))


def test_each_body_has_its_own_parts_around_one_trunk():
    built = model()
    assert [layer.name for layer in built.design.layers] == [
        "hopper.adapter", "ant.adapter", "trunk1", "trunk2", "hopper.policy", "hopper.value", "hopper.log_std",
        "ant.policy", "ant.value", "ant.log_std",
    ]  # fmt: skip
    heads = ("hopper.policy", "hopper.value", "ant.policy", "ant.value")
    assert [(unit.name, unit.outgoing, unit.body) for unit in built.units] == [
        ("hopper.adapter", ("trunk1",), "hopper"),
        ("ant.adapter", ("trunk1",), "ant"),
        ("trunk1", ("trunk2",), None),
        ("trunk2", heads, None),
    ]
    trunk, own = 2 * (256 * 257), (11 + 1) * 256 + 257 * 4 + 3 + (105 + 1) * 256 + 257 * 9 + 8
    assert built.size == trunk + own
    assert built.work("ant") == 105 * 256 + 2 * 256**2 + 9 * 256


def test_a_trunk_of_the_values_own_is_followed_by_their_heads_alone():
    built = model(separate_value_trunk=True, width=8)
    assert {unit.name: unit.outgoing for unit in built.units} == {
        "hopper.adapter": ("trunk1", "value_trunk1"),
        "ant.adapter": ("trunk1", "value_trunk1"),
        "trunk1": ("trunk2",),
        "trunk2": ("hopper.policy", "ant.policy"),
        "value_trunk1": ("value_trunk2",),
        "value_trunk2": ("hopper.value", "ant.value"),
    }
    assert {unit.name: unit.body for unit in built.units if unit.body} == {
        "hopper.adapter": "hopper", "ant.adapter": "ant",
    }  # fmt: skip
    assert built.work("hopper") == 11 * 8 + 2 * 2 * 8**2 + 3 * 8 + 8


def test_without_its_activation_an_adapter_is_no_place_of_units_and_gives_width_numbers():
    built = model(CReLU("half"), adapter_activation=False, width=8)
    assert [unit.name for unit in built.units] == ["trunk1", "trunk2"]
    parameters = built.start([0], CPU)
    # Half of 8 units are produced and 8 values passed on; the adapter passes on what it produces.
    assert parameters["ant.adapter.weight"].shape == (1, 105, 8)
    assert parameters["trunk1.weight"].shape == parameters["trunk2.weight"].shape == (1, 8, 4)
    with_it = model(CReLU("half"), width=8).start([0], CPU)
    assert with_it["ant.adapter.weight"].shape == (1, 105, 4)


def test_an_activation_that_matches_parameters_gives_the_networks_as_many_as_relu():
    """As nearly as widths in whole percents can; half the units on both sides of a layer would be too few."""
    assert model(CReLU("matched")).size == pytest.approx(model().size, rel=0.01)
    assert model(CReLU("half")).size < 0.9 * model().size


@pytest.mark.parametrize("settings", [{}, {"separate_value_trunk": True}, {"adapter_activation": False}], ids=str)
@pytest.mark.parametrize("activation", [LeakyReLU(0.3), CReLU("half"), CReLU("matched"), SwiGLU()])
def test_the_forward_pass_is_a_plain_one_for_every_run(activation, settings):
    built = model(activation, runs=2, width=20, **settings)
    parameters, x = built.start([3, 1], CPU), inputs(2, 11)
    shape = {name: torch.full((2,), value) for name, value in activation.on_run_axis().items()}
    parameters["hopper.log_std.value"] += 0.5
    outputs, hidden = built.forward(parameters, shape, x, None, "hopper")
    assert {name: tuple(value.shape) for name, value in outputs.items()} == {
        "policy": (2, 8, 3), "value": (2, 8, 1), "log_std": (2, 8, 3),
    }  # fmt: skip
    assert (outputs["log_std"] == 0.5).all()
    assert "ant.adapter" not in hidden

    def plain(k, names, activated):
        h = x[k]
        for name in names:
            layer = built.design.layer(name)
            h = (
                h @ parameters[f"{name}.weight"][k, :, : layer.outputs]
                + parameters[f"{name}.bias"][k, :, : layer.outputs]
            )
            if name in activated:
                h = activation(h.unsqueeze(0), Site({key: value[k : k + 1] for key, value in shape.items()}, {}))[0]
        return h

    activated = {unit.name for unit in built.units}
    behind = "value_trunk" if settings.get("separate_value_trunk") else "trunk"
    for output, trunk in (("policy", "trunk"), ("value", behind)):
        names = ("hopper.adapter", f"{trunk}1", f"{trunk}2", f"hopper.{output}")
        for k in range(2):
            torch.testing.assert_close(outputs[output][k], plain(k, names, activated), rtol=1e-4, atol=1e-4)


def test_only_what_belongs_to_a_body_is_active_while_it_is_trained():
    built = model(PReLU("layer"), width=8)
    names = built.start([0], CPU)
    active = built.active(names, "ant")
    assert names.keys() - active.keys() == {name for name in names if name.startswith("hopper.")}
    assert {"ant.adapter.activation.slope", "ant.log_std.value", "trunk1.activation.slope"} <= active.keys()
    assert built.owner("ant.adapter.activation.slope") == "ant"
    assert built.owner("trunk1.weight") is None


def test_random_numbers_are_drawn_for_the_places_of_one_body_alone():
    """Five examples at three places of eight units: an adapter and the trunk's two."""
    built = model(RReLU(), width=8)
    assert built.draws(5, "ant") == built.draws(5) == 5 * 3 * 8
    assert model(width=8).draws(5, "ant") == 0


def test_one_body_has_nothing_idle():
    built = model(bodies={"cartpole": CARTPOLE}, width=8)
    names = built.start([0], CPU)
    assert built.active(names).keys() == names.keys()
    assert {built.owner(name) for name in names} == {None}


def test_orthogonal_starts_have_the_gains_of_cleanrl():
    parameters = model(Tanh(), init="orthogonal", width=64).start([0], CPU)
    for layer, gain in (("trunk1", 2**0.5), ("hopper.adapter", 2**0.5), ("hopper.policy", 0.01), ("hopper.value", 1.0)):
        weight = parameters[f"{layer}.weight"][0].double()
        short = weight if weight.shape[0] <= weight.shape[1] else weight.T
        torch.testing.assert_close(short @ short.T, gain**2 * torch.eye(len(short)).double(), rtol=1e-5, atol=1e-6)
        assert not parameters[f"{layer}.bias"].any()


def test_lecun_starts_have_the_bounds_of_dohares_code():
    parameters = model(LeakyReLU(0.9), init="lecun").start([0], CPU)
    for layer, inputs in (("hopper.adapter", 11), ("trunk2", 256), ("ant.policy", 256)):
        assert 0.98 < float(parameters[f"{layer}.weight"].abs().max()) * (inputs / 3) ** 0.5 <= 1 + 1e-6
        assert not parameters[f"{layer}.bias"].any()
    assert not parameters["ant.log_std.value"].any()


def test_without_adapters_bodies_must_show_the_same():
    with pytest.raises(ConfigError, match=r"network\.adapter=false.*hopper, ant.*network\.adapter=true"):
        model(adapter=False)
    alone = model(bodies={"hopper": HOPPER}, adapter=False, width=8)
    assert [layer.name for layer in alone.design.layers][:2] == ["trunk1", "trunk2"]
    assert alone.forward(alone.start([0], CPU), {}, inputs(1, 11), None)[0]["policy"].shape == (1, 8, 3)


@pytest.mark.parametrize("learned", [False, True])
def test_an_input_scale_multiplies_what_each_trunk_receives(learned):
    """With 3 instead of 1, the same weights give what they give for three times the observation; each trunk has one."""
    settings = {"adapter": False, "separate_value_trunk": True, "width": 13}
    plain = model(bodies={"hopper": HOPPER}, runs=2, **settings)
    scaled = model(bodies={"hopper": HOPPER}, runs=2, **settings, input_scale=3.0, learn_input_scale=learned)
    parameters = scaled.start([0, 1], CPU)
    own = {name: value for name, value in parameters.items() if not name.endswith("_input.value")}
    assert len(parameters) - len(own) == scaled.size - plain.size == 2 * learned
    x = inputs(2, 11)
    expected = plain.forward(own, {}, 3 * x, None)[0]
    for output, value in scaled.forward(parameters, {}, x, None)[0].items():
        torch.testing.assert_close(value, expected[output])


def test_other_networks_answer_constants_too():
    built = Model(MLP(width=8), [ReLU()], {"hopper": HOPPER})
    parameters = built.start([0], CPU)
    assert parameters["log_std.value"].shape == (1, 1, 3)
    assert built.forward(parameters, {}, inputs(1, 11), None)[0]["log_std"].shape == (1, 8, 3)
    assert built.units[-1].outgoing == ("policy", "value")


@pytest.mark.parametrize("settings", [{"width": 0}, {"depth": 0}, {"init": "xavier"}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ConfigError, match=f"network.{next(iter(settings))} is"):
        ActorCritic(**settings)
