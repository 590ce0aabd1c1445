"""Weight clipping: its bounds by hand, what it leaves alone, and packs of several strengths."""

import pytest
import torch

from plasticity_lab.assembly import assembled
from plasticity_lab.component import build
from plasticity_lab.interventions.now import Now
from plasticity_lab.interventions.weight_clipping import WeightClipping
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, differing, images, run, trained

CLASS, _ = choice("intervention", "weight_clipping")
IMAGES = images(8, 64, 20)
STREAM = {"images": 64, "tasks": 2, "epochs": 1}


def clipped(*pack: WeightClipping, value: float):
    """Two inputs, three hidden units, two classes, two runs: all is 0.1 (−0.2 in a corner), then `value`."""
    prelu = build("activation", "prelu", *choice("activation", "prelu"))
    model = classifier(MLP(width=3, norm="layer"), [prelu] * 2, (2,), 2)
    parameters = {name: torch.full_like(each, 0.1) for name, each in model.start([0, 1], CPU).items()}
    parameters["hidden1.weight"][0, 0, 0] = -0.2
    now = Now(model, parameters, on_run_axis(pack), {})
    now = now._replace(state=pack[0].start(now))
    for each in parameters.values():
        each.fill_(value)
    assert pack[0].after_step(now).keys() == now.state.keys()
    return parameters


def test_the_bound_is_the_range_of_pytorchs_first_weights_by_hand():
    """κ/√2 behind two inputs, κ/√3 behind three units: 0.5 and 2 times 0.7071 and 0.5774. Biases have their layer's."""
    parameters = clipped(WeightClipping(0.5), WeightClipping(2.0), value=-3.0)
    for layer, bound in (("hidden1", 0.70711), ("hidden2", 0.57735), ("output", 0.57735)):
        for part in ("weight", "bias"):
            for run_of, strength in enumerate((0.5, 2.0)):
                own = parameters[f"{layer}.{part}"][run_of]
                torch.testing.assert_close(own, torch.full_like(own, -strength * bound), rtol=1e-5, atol=0)
    for name in ("hidden1.scale", "hidden1.shift", "activation.slope"):
        assert (parameters[name] == -3.0).all(), "only weights and biases are clipped"


def test_the_bound_by_the_runs_own_first_weights_and_the_last_layer_left_out():
    pack = [WeightClipping(each, bound="start", last_layer=False) for each in (1.5, 2.0)]
    parameters = clipped(*pack, value=3.0)
    for layer, bounds in (("hidden1", (0.3, 0.2)), ("hidden2", (0.15, 0.2)), ("output", (3.0, 3.0))):
        for part in ("weight", "bias"):
            for own, bound in zip(parameters[f"{layer}.{part}"], bounds, strict=True):
                torch.testing.assert_close(own, torch.full_like(own, bound))


def test_a_layer_without_biases_such_as_a_router_has_its_weights_clipped():
    prelu = build("activation", "prelu", *choice("activation", "prelu"))
    model, clipping = classifier(MLP(width=4), [prelu] * 2, (2,), 2), WeightClipping()
    parameters = {name: torch.ones_like(each) for name, each in model.start([0], CPU).items()}
    del parameters["output.bias"]
    clipping.after_step(Now(model, parameters, on_run_axis([clipping]), {}))
    assert (parameters["output.weight"] == 0.5).all(), "1/√4"


def test_the_inputs_of_a_convolution_are_the_numbers_of_a_patch():
    how = {"name": "cnn", "kernel": 3, "padding": "same", "channels": 4, "width": 8}
    _, learner = assembled([run(0, network=how, **STREAM)], IMAGES, CPU, False)
    network, clipping = learner.network, WeightClipping()
    network.parameters["conv2.weight"].fill_(1.0)
    clipping.after_step(Now(network.model, network.parameters, on_run_axis([clipping]), {}))
    weight = network.parameters["conv2.weight"]
    torch.testing.assert_close(weight, torch.full_like(weight, 1 / 36**0.5))


@pytest.mark.parametrize("bound", ["fan_in", "start"])
def test_packed_alone_and_resumed_at_odd_widths_and_out_of_reach_it_is_the_plain_run(bound):
    """Width 13, with other strengths and learning rates in the other runs of the pack."""
    runs = [
        run(
            seed,
            intervention=(CLASS, {"strength": strength, "bound": bound}),
            network={"width": 13},
            optimizer={"lr": 0.01 * (1 + seed)},
            **STREAM,
        )
        for seed, strength in ((3, 1.0), (1, 0.5), (2, 1e6))
    ]
    packed = trained(runs, IMAGES)
    assert not differing(packed.of(1), trained(runs[1:2], IMAGES).of(0))
    assert not differing(packed.of(0), trained(runs, IMAGES, stops=[1]).of(0))
    plain = trained([run(2, network={"width": 13}, optimizer={"lr": 0.03}, **STREAM)], IMAGES)
    assert not differing(packed.of(2), plain.of(0))
    weights = packed.agent.weights()
    assert not weights["output.weight"][..., 10:].any()
    if bound == "fan_in":
        assert weights["hidden1.weight"][0].abs().max() == torch.tensor(1 / 8)
