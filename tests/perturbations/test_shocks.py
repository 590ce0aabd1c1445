"""Shocks: γ = 1 is none; γ = 2 is what a plain loop makes of it; a pack is the run alone, stopped or not."""

import numpy as np
import pytest
import torch

from plasticity_lab.assembly import assembled
from plasticity_lab.errors import ConfigError
from plasticity_lab.perturbations.shocks import Shocks
from plasticity_lab.records.rows import Position
from tests.helpers.packs import CPU, differing, images, needs_compiler, needs_kernels, run, trained

EPOCHS, WIDTH = 5, 12
STREAM = {"images": 40, "batch_size": 16, "epochs": EPOCHS, "network": {"name": "mlp", "width": WIDTH}}
SIDE = 6
LR = 0.01
MODES = [
    pytest.param({}, id="eager"),
    pytest.param({"compiled": True}, id="compiled", marks=[needs_compiler, pytest.mark.slow]),
    pytest.param(
        {"compiled": True, "kernels": True}, id="kernels", marks=[needs_compiler, needs_kernels, pytest.mark.slow]
    ),
]
NETWORKS = [
    {"name": "mlp", "width": WIDTH, "norm": "layer"},
    {"name": "small_impala", "hidden": 12},
    {"name": "cnn_case_study"},
]


def shocked(seed=0, activation="tanh", network=None, **settings):
    stream = STREAM if network is None else {**STREAM, "network": network, "images": 20, "epochs": 3}
    return run(seed, activation, optimizer={"lr": LR}, perturbation=settings, **stream)


def test_the_factors_follow_one_another_on_over_tasks():
    shocks = Shocks([1.5, 0.5, 0.25, 2.0])
    assert [shocks.factor(epoch, before=0) for epoch in (1, 9, 10, 11, 20, 30, 40, 50)] == [
        None, None, 1.5, None, 0.5, 0.25, 2.0, 1.5,
    ]  # fmt: skip
    assert shocks.count(29) == 2
    assert [shocks.factor(epoch, before=2) for epoch in (10, 20)] == [0.25, 2.0], "of a second task of 29 epochs"


@pytest.mark.parametrize("mode", MODES)
def test_a_factor_of_1_is_no_shock(mode):
    image_set = images(SIDE, 40, 20)
    none = run(0, "tanh", optimizer={"lr": LR}, **STREAM)
    plain, ones = trained([none], image_set, **mode).of(0), trained([shocked(factors=[1], cycle=2)], image_set, **mode)
    measured = {name: values for name, values in ones.of(0).items() if not name.startswith("shock_")}
    assert not differing(plain, measured)


def by_hand(factor_of, half=False, behind=False):
    """The weights of a plain loop of one run's steps. factor_of: an epoch's, from 0. half: the first layer alone is
    shocked. behind: the activation's values are multiplied instead of what it is given.
    """
    image_set = images(SIDE, 40, 20)
    stream, learner = assembled([shocked()], image_set, CPU, False)
    start = learner.network.untrained()
    design = {layer.name: layer for layer in learner.network.model.design.layers}
    weights = {}
    for name, layer in design.items():
        weights[name] = [
            start[f"{name}.weight"][0][:, : layer.outputs].clone().requires_grad_(),
            start[f"{name}.bias"][0, 0, : layer.outputs].clone().requires_grad_(),
        ]
    optimizer = torch.optim.Adam([each for pair in weights.values() for each in pair], lr=LR)
    task = stream.task(0)
    (lesson,) = task.lessons
    pixels = np.arange(SIDE * SIDE) if lesson.pixels is None else lesson.pixels
    shown = image_set.train_images.reshape(40, -1)[lesson.images][:, pixels] / 255
    x, labels = torch.from_numpy(shown).float(), torch.from_numpy(lesson.labels)
    *hidden, output = weights
    for chunk in task.chunks(Position(0, 0)):
        factor = factor_of(chunk.epoch)
        for batch, count in zip(chunk.images[0], chunk.counts, strict=True):
            rows = torch.from_numpy(batch[:count])
            h = x[rows]
            for at, name in enumerate(hidden):
                weight, bias = weights[name]
                own = 1.0 if half and at else factor
                z = h @ weight + bias
                h = torch.tanh(z) * own if behind else torch.tanh(z * own)
            weight, bias = weights[output]
            loss = torch.nn.functional.cross_entropy(h @ weight + bias, labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return {name: pair[0].detach().numpy() for name, pair in weights.items()}


def farthest(hand):
    """The greatest difference between the weights of a loop by hand and those of a run with γ = 2 in epochs 2 and 4."""
    ours = trained([shocked(factors=[2.0], cycle=2)], images(SIDE, 40, 20)).of(0)
    return max(np.abs(ours[f"{name}.weight"][:, : values.shape[1]] - values).max() for name, values in hand.items())


def test_a_factor_of_2_is_what_a_loop_by_hand_makes_of_it():
    right = [1.0, 2.0, 1.0, 2.0, 1.0]
    assert farthest(by_hand(right.__getitem__)) < 2e-5
    for wrong in ([2.0, 1.0, 2.0, 1.0, 1.0], [1.0, 1.0, 2.0, 1.0, 2.0]):  # an epoch early, an epoch late
        assert farthest(by_hand(wrong.__getitem__)) > 1e-3
    assert farthest(by_hand(right.__getitem__, half=True)) > 1e-3
    assert farthest(by_hand(right.__getitem__, behind=True)) > 1e-3


def test_what_is_saturated_is_counted_with_the_factor_of_the_epoch():
    """Of a network that learns nothing: tanh′ < 0.001 where |z| > 4.14 (arcosh √1000), with and without the factor."""
    quiet = run(0, "tanh", optimizer={"lr": 1e-12}, perturbation={"factors": [40.0], "cycle": 2}, **STREAM)
    image_set = images(SIDE, 40, 20)
    done = trained([quiet], image_set)
    found = done.of(0)
    assert np.array_equal(found["shock_factor"], [np.nan, 40.0, np.nan, 40.0, np.nan], equal_nan=True)
    _, learner = assembled([quiet], image_set, CPU, False)
    learner.begin(next(iter(assembled([quiet], image_set, CPU, False)[0].tasks(Position(0, 0)))), fresh=True)
    before: dict[str, torch.Tensor] = {}
    view = learner.view(learner.task)
    model, activation = learner.network.model, learner.network.settings["activation"]
    for factor, share in zip((None, 40.0), found["shock_saturated"][:2], strict=True):
        model.forward(
            view.parameters, activation, view.probe["x"], None, before=before,
            factor=None if factor is None else torch.tensor(factor),
        )  # fmt: skip
        flat = torch.cat([z.flatten() for z in before.values()]).abs() > np.arccosh(np.sqrt(1000))
        assert share == pytest.approx(flat.double().mean().item(), abs=1e-9)
    assert found["shock_saturated"][1] > 0.05


@pytest.mark.parametrize(
    "network", [None, *NETWORKS], ids=lambda network: "mlp" if network is None else network["name"]
)
def test_a_shocked_run_is_the_same_alone_and_in_a_pack(network):
    image_set = images(10, 40, 20)
    ours = shocked(1, "swish", network, cycle=2)
    alone = trained([ours], image_set).of(0)
    assert np.isfinite(alone["loss"]).all()
    mates = [shocked(k, "swish", network, cycle=2) for k in (5, 6)]
    assert not differing(alone, trained([mates[0], ours, mates[1]], image_set).of(1))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[1:])
def test_compiled_too(mode):
    image_set = images(SIDE, 40, 20)
    alone = trained([shocked(1, cycle=2)], image_set, **mode).of(0)
    for runs, place in ((2, 1), (3, 0), (5, 3), (6, 5), (8, 2)):
        mates = [shocked(100 + k, cycle=2) for k in range(runs)]
        mates[place] = shocked(1, cycle=2)
        assert not differing(alone, trained(mates, image_set, **mode).of(place)), f"place {place} of {runs}"


@pytest.mark.parametrize("looks", [2, 4, 6])
def test_a_run_that_is_stopped_within_or_after_a_shocked_epoch_goes_on_as_if_nothing_had_been(looks, monkeypatch):
    """Chunks of 2 of an epoch's 3 steps: look 2 is at the end of an epoch, 3 within the shocked one."""
    monkeypatch.setattr("plasticity_lab.benchmarks.labelled.stream.CHUNK_STEPS", 2)
    image_set = images(SIDE, 40, 20)
    runs = [shocked(k, cycle=2, in_evaluation=True) for k in (0, 1)]
    whole, resumed = trained(runs, image_set), trained(runs, image_set, stops=[looks + 1])
    for k in (0, 1):
        assert not differing(whole.of(k), resumed.of(k))


def test_evaluation_is_shocked_where_that_is_asked_for():
    image_set = images(SIDE, 40, 20)
    last = {"cycle": EPOCHS, "factors": [30.0]}
    left, taken = (
        trained([shocked(**last, in_evaluation=in_evaluation)], image_set).of(0) for in_evaluation in (False, True)
    )
    assert left["final_accuracy"] != taken["final_accuracy"]
    assert left["shock_accuracy"][-1] == left["final_accuracy"][0]
    assert taken["shock_accuracy"][-1] == taken["final_accuracy"][0]
    assert not differing({"loss": left["loss"]}, {"loss": taken["loss"]})


@pytest.mark.parametrize(
    "wrong", [{"factors": []}, {"factors": [1, 0]}, {"factors": ["x"]}, {"factors": [2], "cycle": 0}]
)
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ConfigError, match=r"perturbation\.(factors|cycle)"):
        Shocks(**wrong)
