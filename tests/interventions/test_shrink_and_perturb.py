"""The law of the new weights, when they come, and whose they are."""

from pathlib import Path

import pytest
import torch

from plasticity_lab.assembly import assembled, resources
from plasticity_lab.component import build
from plasticity_lab.interventions.now import Now
from plasticity_lab.interventions.shrink_and_perturb import ShrinkAndPerturb
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.rows import Position
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, differing, images, run, trained
from tests.helpers.sweeps import runs_of

CLASS, _ = choice("intervention", "shrink_and_perturb")
IMAGES = images(8, 64, 20)
STREAM = {"images": 64, "tasks": 2, "epochs": 2}


def shrunk(pack, updates=7):
    """A network of three runs before and after, with the activation's slope and a normalisation in it."""
    activation = build("activation", "prelu", *choice("activation", "prelu"))
    model = classifier(MLP(width=40, norm="layer"), [activation] * 3, (1, 8, 8), 10)
    parameters = model.start([0, 1, 2], CPU)
    now = Now(model, parameters, on_run_axis(pack), {}, updates=updates, seeds=[0, 1, 2], task=1)
    before = {name: value.clone() for name, value in parameters.items()}
    pack[0].before_task(now)
    return model, before, parameters


def test_a_weight_is_scaled_down_and_given_a_part_of_a_fresh_one():
    """θ ← (1 − strength) θ + noise · fresh, each run with its own two numbers and its own draws."""
    settings = [(0.6, 0.1), (0.0, 1.0), (1.0, 0.0)]
    model, before, after = shrunk([ShrinkAndPerturb(*own) for own in settings])
    layer = model.design.layer("hidden2")
    for k, (strength, noise) in enumerate(settings):
        fresh = layer.start(host_stream(k, "shrink and perturb", 7, "hidden2"), "default", 1.0)
        for name in ("hidden2.weight", "hidden2.bias"):
            expected = (1 - strength) * before[name][k] + noise * torch.from_numpy(fresh[name])
            torch.testing.assert_close(after[name][k], expected)
    for name in ("activation.slope", "hidden1.scale", "hidden1.shift"):
        assert torch.equal(after[name], before[name])


def test_the_law_of_what_is_added_is_that_of_a_first_weight():
    """Uniform in ± noise / √inputs: with strength 1 nothing else is left. 2,560 draws, so its bounds are nearly met."""
    _, _, after = shrunk([ShrinkAndPerturb(1.0, 0.5)] * 3)
    bound = 0.5 / 64**0.5
    for value in after["hidden1.weight"]:
        assert 0.99 * bound < value.abs().max() <= bound
        assert abs(float(value.mean())) < 4 * bound / (3 * value.numel()) ** 0.5
        assert float(value.var()) == pytest.approx(bound**2 / 3, rel=0.1)


def test_a_share_of_one_and_all_of_the_noise_is_a_fresh_network_and_each_time_another():
    _, before, once = shrunk([ShrinkAndPerturb(1.0, 1.0)] * 3)
    _, _, again = shrunk([ShrinkAndPerturb(1.0, 1.0)] * 3)
    _, _, later = shrunk([ShrinkAndPerturb(1.0, 1.0)] * 3, updates=8)
    assert all(torch.equal(once[name], again[name]) for name in once)
    assert not torch.equal(once["hidden1.weight"], before["hidden1.weight"])
    assert not torch.equal(once["hidden1.weight"], later["hidden1.weight"])


def test_a_task_that_begins_changes_nothing_where_it_comes_after_updates():
    _, before, after = shrunk([ShrinkAndPerturb(1.0, 0.5, every=3)] * 3)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_it_comes_when_a_task_begins_and_moments_stay():
    how = {"intervention": (CLASS, {"strength": 1.0, "noise": 0.0}), **STREAM}
    stream, learner = assembled([run(3, **how)], IMAGES, CPU, False)
    network = learner.network
    for position in (0, 1):
        task = stream.task(position)
        moments = {name: value.clone() for name, value in network.moments["first"].items()}
        learner.begin(task, fresh=True)
        assert bool(network.parameters["hidden1.weight"].any()) is (position == 0)
        assert all(torch.equal(value, moments[name]) for name, value in network.moments["first"].items())
        for chunk in task.chunks(Position(position, 0)):
            learner.advance(chunk)
        learner.end(task)


def test_it_comes_after_updates_where_every_says_so_packed_alone_and_resumed():
    runs = [
        run(seed, intervention=(CLASS, {"strength": 0.1 / (1 + seed), "noise": 0.01, "every": 3}), **STREAM)
        for seed in (3, 1)
    ]
    packed = trained(runs, IMAGES)
    assert not differing(packed.of(1), trained(runs[1:], IMAGES).of(0))
    resumed = trained(runs, IMAGES, stops=[1, 1])
    assert not differing(packed.of(0), resumed.of(0))
    assert differing(packed.of(0), trained([run(3, **STREAM)], IMAGES).of(0))


def test_nothing_shrinks_and_nothing_is_added_bit_for_bit():
    idle = trained([run(1, intervention=(CLASS, {"strength": 0.0, "noise": 0.0}), **STREAM)], IMAGES)
    assert not differing(idle.of(0), trained([run(1, **STREAM)], IMAGES).of(0))


OF_VALUES = ("agent=rainbow", "benchmark=catch", "network=small_nature", "network.hidden=8")
STAYING = ("open", "scalar")
PRUNED = ("intervention=[shrink_and_perturb,prune_experts]", "intervention.prune_experts.first=7")


@pytest.mark.parametrize(
    ("head", "chosen"),
    [
        (["flatten"], ["intervention=shrink_and_perturb"]),
        (["softmoe", "head.experts=3", "head.normalised=true"], ["intervention=shrink_and_perturb"]),
        (["softmoe", "head.experts=3"], PRUNED),
        (["expert_choice", "head.experts=3"], PRUNED),
        (["token_choice", "head.experts=3"], ["intervention=shrink_and_perturb"]),
    ],
)
def test_a_share_of_one_and_all_of_the_noise_is_a_fresh_network_with_noise_and_with_experts(head, chosen):
    """Every number is that of the fresh draw, deviations too; which experts are open, and a router's scale, stay."""
    name = "intervention.shrink_and_perturb" if chosen is PRUNED else "intervention"
    words = (*OF_VALUES, f"head={head[0]}", *head[1:], *chosen, f"{name}.strength=1", f"{name}.noise=1", "seed=5")
    (made,) = runs_of(*words)
    _, learner = assembled([made], resources(Path())(made), CPU, False)
    network = learner.network
    network.took(7)
    for part, value in network.parameters.items():
        if not part.endswith("open"):
            value.add_(0.5)  # as if it had learned
    before = {part: value.clone() for part, value in network.parameters.items()}
    network.begin_task(1)
    for layer in network.model.design.layers:
        draw = host_stream(5, "shrink and perturb", 7, layer.name)
        for part, fresh in network.model.start_of(layer, 0, draw).items():
            stays = part.rpartition(".")[2] in STAYING
            expected = before[part][0] if stays else torch.from_numpy(fresh)
            torch.testing.assert_close(network.parameters[part][0], expected, rtol=0, atol=1e-7)
