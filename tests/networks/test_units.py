"""Where the weights into and out of single units lie, whatever stands between the layers."""

import numpy as np
import pytest
import torch

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.swiglu import SwiGLU
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.networks.units import cut_off, forget, outgoing_rows, start_anew
from plasticity_lab.randomness.host import host_stream
from tests.helpers.networks import classifier, logits
from tests.helpers.packs import CPU

DIGITS = (1, 8, 8)


def model_of(kind: str, runs: int = 2) -> Model:
    if kind == "cnn":
        return classifier(CNN(padding="same", kernel=3, channels=4, width=8), [ReLU()] * runs, DIGITS, 10)
    activation = {"relu": ReLU(), "crelu": CReLU(), "swiglu": SwiGLU()}[kind]
    return classifier(MLP(width=8), [activation] * runs, DIGITS, 10)


@pytest.mark.parametrize(
    ("kind", "unit", "chosen", "rows"),
    [
        ("relu", 0, [2, 5], [2, 5]),
        ("crelu", 0, [1], [1, 5]),  # 4 produced, 8 passed on: φ₁ of all, then φ₂ of all
        ("swiglu", 0, [3], [3]),  # 16 produced, 8 passed on: the value's half …
        ("swiglu", 0, [11], [3]),  # … and the gate's
        ("cnn", 0, [1], list(range(9, 18))),  # a patch of 9 numbers of each channel
        ("cnn", 1, [2], list(range(8, 12))),  # 2 × 2 pixels are left of each channel
    ],
)
def test_what_a_unit_passes_on_is_multiplied_with_its_own_rows(kind, unit, chosen, rows):
    model = model_of(kind)
    place = model.units[unit]
    assert outgoing_rows(model, place, place.outgoing[0], np.array(chosen)).tolist() == rows


@pytest.mark.parametrize("kind", ["relu", "crelu", "swiglu", "cnn"])
def test_a_unit_that_is_cut_off_changes_no_output_any_more_and_its_mates_do_not_notice(kind):
    model = model_of(kind)
    parameters = model.start([0, 1], CPU)
    x = torch.from_numpy(host_stream(0, "x").normal(size=(2, 4, 64)).astype(np.float32))
    before = logits(model, parameters, {}, x, None)[0]
    for unit in model.units:
        chosen = np.array([1])
        cut_off(model, parameters, 1, unit, chosen)
        cut = logits(model, parameters, {}, x, None)[0]
        start_anew(model, parameters, 1, unit, chosen, host_stream(3, "fresh", unit.name))
        assert torch.equal(logits(model, parameters, {}, x, None)[0], cut)
    assert torch.equal(cut[0], before[0])
    assert not torch.equal(cut[1], before[1])


def test_a_fresh_start_is_that_of_the_layer_and_moments_of_the_unit_are_gone():
    model = model_of("relu")
    parameters = model.start([0, 1], CPU)
    start = {name: value.clone() for name, value in parameters.items()}
    moments = {"first": {name: torch.ones_like(value) for name, value in parameters.items()}}
    (unit, *_), chosen = model.units, np.array([0, 3])
    for value in parameters.values():
        value.add_(1.0)
    start_anew(model, parameters, 0, unit, chosen, host_stream(0, "weights", "hidden1"))
    for name in ("hidden1.weight", "hidden1.bias"):
        assert torch.equal(parameters[name][0][:, chosen], start[name][0][:, chosen])
        assert torch.equal(parameters[name][0][:, [1, 2]], start[name][0][:, [1, 2]] + 1)
        assert torch.equal(parameters[name][1], start[name][1] + 1)
    forget(model, moments, 0, unit, chosen)
    first = moments["first"]
    assert not first["hidden1.weight"][0][:, chosen].any()
    assert not first["hidden2.weight"][0][chosen].any()
    assert first["hidden1.weight"][0][:, [1, 2]].all()
    assert first["hidden2.weight"][1].all()


def test_a_network_has_an_output_for_each_name_and_can_carry_a_prefix():
    shapes = {"body": Shapes((4,), {"policy": 2, "value": 1})}
    plain, named = (Model(MLP(width=8), [CReLU()], shapes, prefix) for prefix in ("", "actor"))
    assert [layer.name for layer in plain.design.layers] == ["hidden1", "hidden2", "policy", "value"]
    assert plain.units[-1].outgoing == ("policy", "value")
    outputs, hidden = named.forward(named.start([0], CPU), {}, torch.zeros(1, 4, 4), None)
    assert {name: tuple(value.shape) for name, value in outputs.items()} == {"policy": (1, 4, 2), "value": (1, 4, 1)}
    assert list(hidden) == ["actor.hidden1", "actor.hidden2"]
    assert all(name.startswith("actor.") for name in named.start([0], CPU))
    assert named.size == plain.size
