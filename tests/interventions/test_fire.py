"""FIRE: its arithmetic by hand, its two readings, its times, and target networks."""

from pathlib import Path

import pytest
import torch

from plasticity_lab.assembly import assembled, resources
from plasticity_lab.component import build
from plasticity_lab.interventions.fire import FIRE
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, differing, images, run, trained
from tests.helpers.sweeps import runs_of

CLASS, _ = choice("intervention", "fire")
IMAGES = images(8, 64, 20)
STREAM = {"images": 64, "tasks": 2, "epochs": 2}
CNN = {"name": "cnn", "kernel": 3, "padding": "same", "channels": 4, "width": 8}


def before_a_task(model, parameters, *pack: FIRE) -> None:
    pack[0].before_task(Now(model, parameters, on_run_axis(pack), {}, seeds=list(range(len(pack))), task=1))


def test_two_iterations_by_hand_whole_half_and_none():
    """W = [[3, 0, 0], [0, 4, 0]] has norm 5. Singular values: 0.6 → 0.792 → 0.9396; 0.8 → 0.944 → 0.9954.

    1.5 · 0.6 − 0.5 · 0.6³ = 0.792; 1.5 · 0.792 − 0.5 · 0.792³ = 0.939603; 1.5 · 0.944 − 0.5 · 0.944³ = 0.995384. Two
    inputs and three units: times √(3 / 2).
    """
    pack = [FIRE(strength, iterations=2) for strength in (1.0, 0.5, 0.0)]
    relu = build("activation", "relu", *choice("activation", "relu"))
    model = classifier(MLP(width=3), [relu] * 3, (2,), 1)
    parameters = model.start([0, 1, 2], CPU)
    weight = parameters["hidden1.weight"]
    weight[...] = torch.tensor([[3.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0]])
    parameters["hidden2.weight"].zero_()
    before = {name: value.clone() for name, value in parameters.items()}
    before_a_task(model, parameters, *pack)
    moved = torch.tensor([[0.939603, 0.0, 0.0, 0.0], [0.0, 0.995384, 0.0, 0.0]]) * 1.5**0.5
    torch.testing.assert_close(weight[0], moved, rtol=1e-6, atol=0)
    torch.testing.assert_close(weight[1], (before["hidden1.weight"][1] + moved) / 2, rtol=1e-6, atol=0)
    for name, value in parameters.items():
        assert torch.equal(value[2], before[name][2])
        if name.endswith("bias"):
            assert torch.equal(value, before[name])
    assert not parameters["hidden2.weight"].any(), "a matrix of zeros stays"
    # One output of three units, w → w / |w| · √(1 / 3): a vector has one singular value, which is 1 at once.
    output = before["output.weight"][0, :, 0]
    torch.testing.assert_close(parameters["output.weight"][0, :, 0], output / output.norm() / 3**0.5)


def test_each_pixel_of_a_kernel_is_a_matrix():
    """After many iterations each pixel's matrix Q of 4 × 4 channels has QᵀQ = 1/81, by the factor 1 / kernel²."""
    _, learner = assembled([run(0, network=CNN, **STREAM)], IMAGES, CPU, False)
    model, parameters = learner.network.model, learner.network.parameters
    before = parameters["conv2.weight"].clone()
    before_a_task(model, parameters, FIRE(iterations=60))
    pixels = parameters["conv2.weight"][0].unflatten(0, (4, 9)).transpose(0, 1)
    torch.testing.assert_close(pixels.mT @ pixels, torch.eye(4).expand(9, 4, 4) / 81, rtol=0, atol=1e-6)
    # The nearest orthogonal matrix: its product with the old one is symmetric, with positive eigenvalues.
    products = pixels.mT @ before[0].unflatten(0, (4, 9)).transpose(0, 1)
    torch.testing.assert_close(products, products.mT, rtol=0, atol=1e-5)
    assert (torch.linalg.eigvalsh(products) > 0).all()


def test_dense_layers_return_to_their_first_values_under_that_reading():
    how = {"network": CNN, **STREAM}
    _, learner = assembled([run(5, **how)], IMAGES, CPU, False)
    network = learner.network
    first = {name: value.clone() for name, value in network.parameters.items()}
    for value in network.parameters.values():
        value.add_(0.1)
    biases = network.parameters["conv1.bias"].clone()
    fire = FIRE(dense="initial")
    fire.before_task(Now(network.model, network.parameters, on_run_axis([fire]), {}, seeds=[5], task=1))
    for name, value in network.parameters.items():
        assert torch.equal(value, first[name]) is not name.startswith("conv")
    assert torch.equal(network.parameters["conv1.bias"], biases)


@pytest.mark.parametrize("every", [None, 5])
def test_packed_alone_and_resumed_at_odd_widths_and_strength_zero_is_the_plain_run(every):
    """Width 13, and other strengths and learning rates in the other runs of the pack."""
    runs = [
        run(
            seed,
            intervention=(CLASS, {"strength": share, "every": every}),
            network={"width": 13},
            optimizer={"lr": 0.001 * (1 + seed)},
            **STREAM,
        )
        for seed, share in ((3, 1.0), (1, 0.3), (2, 0.0))
    ]
    packed = trained(runs, IMAGES)
    assert not differing(packed.of(1), trained(runs[1:2], IMAGES).of(0))
    resumed = trained(runs, IMAGES, stops=[1, 1])
    assert not differing(packed.of(0), resumed.of(0))
    plain = trained([run(2, network={"width": 13}, optimizer={"lr": 0.003}, **STREAM)], IMAGES)
    assert not differing(packed.of(2), plain.of(0))
    assert not packed.agent.weights()["output.weight"][..., 10:].any()


@pytest.mark.parametrize(("target", "strength", "at_once"), [("same", 1, True), ("copy", 1, False), ("same", 0, False)])
def test_a_target_network_becomes_equal_at_once_or_with_its_next_copy(target, strength, at_once):
    words = ("agent=dqn", "benchmark=catch", "network=small_nature", "network.hidden=8", "intervention=fire")
    (made,) = runs_of(*words, f"intervention.target={target}", f"intervention.strength={strength}")
    _, learner = assembled([made], resources(Path())(made), CPU, False)
    network = learner.network
    next(iter(network.parameters.values())).add_(1.0)
    network.begin_task(1)
    follows = network.targets[0].parameters
    assert all(torch.equal(value, follows[name]) for name, value in network.parameters.items()) is at_once
