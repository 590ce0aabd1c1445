"""Normalize-and-Project: its rules by hand, what it needs, and packs of several strengths."""

import pytest
import torch

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.nap import NormalizeAndProject, is_homogeneous
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, choices, differing, images, run, trained
from tests.helpers.sweeps import runs_of

CLASS, _ = choice("intervention", "nap")
IMAGES = images(8, 64, 20)
STREAM = {"images": 64, "tasks": 2, "epochs": 1}


def moved(*pack: NormalizeAndProject):
    """Three runs of two inputs and three hidden units, before and after an update that doubled or changed parameters.

    The first weight of hidden1 is [[3, 0, 0], [0, 4, 0]], with norm 5; then it is doubled. Its scales become (2, 2, 1).
    """
    relu = build("activation", "relu", *choice("activation", "relu"))
    model = classifier(MLP(width=3, norm="layer"), [relu] * 3, (2,), 2)
    parameters = model.start([0, 1, 2], CPU)
    first = torch.tensor([[3.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0]])
    parameters["hidden1.weight"][:] = first
    parameters["hidden2.weight"].zero_()
    output = parameters["output.weight"].clone()
    now = Now(model, parameters, on_run_axis(pack), {})
    now = now._replace(state=pack[0].start(now))
    biases = parameters["hidden1.bias"].clone()
    parameters["hidden1.weight"].mul_(2)
    parameters["output.weight"].mul_(-3)
    parameters["hidden1.scale"][:, 0] = torch.tensor([2.0, 2.0, 1.0])
    parameters["hidden1.shift"][:, 0] = torch.tensor([0.0, 4.0, 0.0])
    for layer in ("hidden1", "hidden2", "output"):
        parameters[f"{layer}.bias"].fill_(0.7)
    before = {name: value.clone() for name, value in parameters.items()}
    pack[0].after_step(now)
    return parameters, before, first, output, biases


def test_weights_scales_shifts_and_biases_by_hand_whole_half_and_none():
    """(2, 2, 1, 0, 4, 0) has norm 5, of three units: times √3 / 5. Half of the way is the mean of factors."""
    after, before, first, output, biases = moved(*(NormalizeAndProject(strength) for strength in (1.0, 0.5, 0.0)))
    torch.testing.assert_close(after["hidden1.weight"][0], first)
    torch.testing.assert_close(after["hidden1.weight"][1], 1.5 * first)
    torch.testing.assert_close(after["output.weight"][0], -output[0])
    factor = 3**0.5 / 5
    for part in ("scale", "shift"):
        torch.testing.assert_close(after[f"hidden1.{part}"][0], factor * before[f"hidden1.{part}"][0])
        torch.testing.assert_close(after[f"hidden1.{part}"][1], (1 + factor) / 2 * before[f"hidden1.{part}"][1])
    for layer in ("hidden1", "hidden2"):
        assert not after[f"{layer}.bias"][0].any()
    assert torch.equal(after["output.bias"], before["output.bias"]), "no normalisation follows"
    assert not biases[0].any(), "the first forward pass has none either"
    assert not after["hidden2.weight"].any(), "a matrix of zeros stays"
    for name, value in after.items():
        assert torch.equal(value[2], before[name][2]), "strength 0 changes nothing"


def test_scales_and_shifts_pulled_or_free_and_what_may_stay():
    how = {"biases": "keep", "last_layer": False}
    after, before, *_ = moved(*(NormalizeAndProject(s, affine="pull", pull=0.1, **how) for s in (1.0, 0.5, 0.0)))
    torch.testing.assert_close(after["hidden1.scale"][0, 0], torch.tensor([1.9, 1.9, 1.0]))
    torch.testing.assert_close(after["hidden1.shift"][0, 0], torch.tensor([0.0, 3.6, 0.0]))
    torch.testing.assert_close(after["hidden1.scale"][1, 0], torch.tensor([1.95, 1.95, 1.0]))
    for name in ("hidden1.bias", "output.weight"):
        assert torch.equal(after[name], before[name])
    after, before, first, *_ = moved(*(NormalizeAndProject(affine="free") for _ in range(3)))
    assert torch.equal(after["hidden1.scale"], before["hidden1.scale"])
    torch.testing.assert_close(after["hidden1.weight"], first.expand(3, -1, -1))


def test_after_several_updates_only_biases_before():
    after, before, *_ = moved(*(NormalizeAndProject(every=4) for _ in range(3)))
    assert torch.equal(after["hidden1.weight"], before["hidden1.weight"])
    assert not after["hidden1.bias"].any()


def test_homogeneous_activations_are_known():
    known = {"aid", "crelu", "leaky_relu", "prelu", "relu", "rrelu"}
    for name in choices("activation"):
        activation = build("activation", name, *choice("activation", name))
        assert isinstance(activation, Activation)
        assert is_homogeneous(activation) is (name in known or name.endswith("prelu")), name


@pytest.mark.walk(2)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("network.norm=diagonal", "choose network.norm=layer"),
        ("network=mlp", "network=mlp: it needs a normalisation .* choose network.norm=layer"),
        ("agent=dqn benchmark=catch network=small_impala network.norm=layer", "activations of plain sums"),
        ("benchmark=split_digits network=resnet18", "activations of plain sums"),
        ("agent=rainbow benchmark=games head=softmoe network=small_nature network.norm=layer", "experts of this head"),
        ("network.norm=layer activation=tanh", "activation=tanh.*: .* choose intervention.affine=pull"),
    ],
)
def test_a_run_without_what_it_needs_is_refused_in_a_sentence(words, said):
    with pytest.raises(ConfigError, match=said):
        runs_of("intervention=nap", *words.split())


@pytest.mark.walk(1)
@pytest.mark.parametrize("words", ["network.norm=rms", "network.norm=layer activation=tanh intervention.affine=pull"])
def test_a_run_with_what_it_needs_is_not(words):
    assert len(runs_of("intervention=nap", *words.split())) == 1


@pytest.mark.parametrize("every", [None, 3])
def test_packed_alone_and_resumed_at_odd_widths_and_strength_zero_is_the_plain_run(every):
    """Width 13, with other strengths and learning rates in the other runs of the pack."""
    network = {"width": 13, "norm": "layer"}
    runs = [
        run(
            seed,
            intervention=(CLASS, {"strength": strength, "every": every}),
            network=network,
            optimizer={"lr": 0.01 * (1 + seed)},
            **STREAM,
        )
        for seed, strength in ((3, 1.0), (1, 0.5), (2, 0.0))
    ]
    packed = trained(runs, IMAGES)
    assert not differing(packed.of(1), trained(runs[1:2], IMAGES).of(0))
    assert not differing(packed.of(0), trained(runs, IMAGES, stops=[1]).of(0))
    assert not differing(
        packed.of(2), trained([run(2, network=network, optimizer={"lr": 0.03}, **STREAM)], IMAGES).of(0)
    )
    weights = packed.agent.weights()
    assert not weights["output.weight"][..., 10:].any()
    if every is None:
        radius = packed.agent.network.model.start([3], CPU)["hidden1.weight"].norm()
        torch.testing.assert_close(weights["hidden1.weight"][0].norm(), radius)
