"""Many steps in one call of our kernels: the runs that are trained so, and equal numbers with single steps."""

from unittest import mock

import numpy as np
import pytest
import torch

from plasticity_lab.activations.relu import ReLU
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.agents.supervised.agent import Supervised
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.agents.supervised.many_steps import ManySteps, brightness_of
from plasticity_lab.agents.supervised.score import indices, score_of
from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.labelled import stream
from plasticity_lab.component import load
from plasticity_lab.networks.mlp import MLP
from tests.helpers.packs import CPU, Trained, choice, choices, images, needs_kernels, run, trained

pytestmark = needs_kernels
IMAGES = images(8, 189, 45)
TASK = {"images": 189, "tasks": 2, "epochs": 2}
"""24 steps a task, each twelfth of them with 13 images only."""
REPLAY = "experience_replay", choice("agent", "experience_replay")[0], {"memory": 30, "per_task": 12, "replayed": 6}
CLIPPED = "supervised", "plasticity_lab.agents.supervised.agent.Supervised", {"max_norm": 1.0}
ADAMW = {"name": "adamw", "weight_decay": 0.3, "schedule": "cosine", "warmup": 0.1, "reset": "task"}


class Doubled(ReLU):
    """Another function than its base class."""

    def __call__(self, x, site):
        return 2 * super().__call__(x, site)


class Skipping(MLP):
    """It may have another forward pass than its base class."""


def intervention(name: str) -> dict:
    return {"intervention": choice("intervention", name)}


def with_settings(name: str, **settings) -> dict:
    target, own = choice("intervention", name)
    return {"intervention": (target, {**own, **settings})}


BY_KERNEL = [name for name in choices("activation") if "in_stack" in vars(load(choice("activation", name)[0]))]
TAKEN = {
    "relu": {},
    "slopes": {"activation": "leaky_relu"},
    "AdamW with a schedule": {"optimizer": ADAMW},
    "SGD": {"optimizer": {"name": "sgd", "lr": 0.05, "momentum": 0.9}},
    "work between tasks": intervention("shrink_and_perturb"),
    "transitions": {"transition_steps": 5},
    "a pull to 0": intervention("l2"),
    "a pull to the first values": intervention("l2_init"),
    "bounds": intervention("weight_clipping"),
}
NOT_TAKEN = {
    "a learned activation": {"activation": "prelu"},
    "two outputs a unit": {"activation": "crelu"},
    "normalised": {"network": {"norm": "layer"}},
    "another forward pass": {"network": {"target": f"{__name__}.Skipping"}},
    "RMSprop": {"optimizer": {"name": "rmsprop"}},
    "another penalty": intervention("spectral"),
    "a pull of constant length": with_settings("l2_init", power=1),
    "work after each step": intervention("hare_tortoise"),
    "a look at units": intervention("redo"),
    "clipped": {"agent": CLIPPED},
    "perturbed": {"perturbation": {}},
    "moved images": {"augment": "crop", "benchmark": "labels"},
}


def learner_of(*runs, kernels: bool = True, compiled: bool = True) -> SupervisedLearner:
    return assembled(runs, IMAGES, CPU, compiled, kernels=kernels)[1]


@pytest.mark.parametrize("case", TAKEN)
def test_many_steps_of_plain_stacks_are_one_call(case):
    own = run(**TASK, **TAKEN[case])
    assert learner_of(own).many is not None
    assert learner_of(own, kernels=False).many is None
    assert learner_of(own, kernels=False, compiled=False).many is None


@pytest.mark.parametrize("case", NOT_TAKEN)
def test_other_runs_take_step_after_step(case):
    assert learner_of(run(**TASK, **NOT_TAKEN[case])).many is None


def test_a_subclass_of_an_activation_is_another_function():
    own = run(**TASK)
    own.targets["activation"] = f"{__name__}.Doubled"
    assert learner_of(own).many is None


@pytest.mark.parametrize(
    ("settings", "called"), [({}, ["stack_adam", "stack_right"]), ({"activation": "prelu"}, ["linear", "linear_adam"])]
)
def test_the_kernels_that_are_called_are_compiled_ahead(settings, called):
    """By the cost of a run, from which a plan knows them."""
    found = Supervised().cost(parts_of([run(**TASK, **settings)]), IMAGES).kernel_parts
    assert list(found[:2]) == called


def numbers(pack: Trained) -> list[np.ndarray]:
    """Everything measured, and all parameters and moments."""
    network = pack.agent.network
    own = [*network.parameters.values(), *(value for of in network.moments.values() for value in of.values())]
    return [*(np.concatenate(rows) for rows in pack.measured.rows.values()), *(value.numpy() for value in own)]


@pytest.fixture
def short_chunks(monkeypatch):
    """Chunks of 7 and of 5 steps."""
    monkeypatch.setattr(stream, "CHUNK_STEPS", 7)


def test_a_run_alone_and_resumed_is_the_same(short_chunks):
    """Also where calls end otherwise: with fewer steps, by a stop, or for an intervention."""
    runs = [
        run(seed, "rrelu", optimizer={"lr": lr}, network={"width": 13}, **TASK) for seed, lr in ((3, 1e-2), (8, 1e-3))
    ]
    packed, stopped = (trained(runs, IMAGES, compiled=True, kernels=True, stops=stops) for stops in ((), (2, 1)))
    alone = trained(runs[1:], IMAGES, compiled=True, kernels=True)
    for name, value in packed.of(1).items():
        np.testing.assert_array_equal(value, stopped.of(1)[name])
        np.testing.assert_array_equal(value, alone.of(0)[name])
    losses = packed.measured.of(0)["loss"]
    assert losses[-12:].mean() < 0.99 * losses[:12].mean()


def test_an_intervention_between_steps_acts_in_time(short_chunks):
    """Each fifth update: calls end there, and where a chunk ends."""
    of_fire, settings = choice("intervention", "fire")
    taken = []

    def noted(many, *arguments):
        taken.append(arguments[-2])
        return usual(many, *arguments)

    usual = ManySteps.__call__
    with mock.patch.object(ManySteps, "__call__", noted):
        trained([run(intervention=(of_fire, settings | {"every": 5}), **TASK)], IMAGES, compiled=True, kernels=True)
    ends = {5, 7, 10, 12, 15, 19, 20, 24}  # of one task; 12 steps an epoch, and 7 a chunk
    assert np.cumsum(taken)[: len(ends)].tolist() == sorted(ends)
    assert sum(taken) == 48


@pytest.mark.parametrize(
    "own",
    [
        {"activation": "leaky_relu"},
        {"benchmark": "labels"},
        {"optimizer": {"name": "sgd", "lr": 1e30}},
        {"normalise": "half"},
    ],
    ids=["permuted", "labels", "diverging", "no zeros"],
)
def test_the_score_is_the_score_of_the_network(own):
    """Of each run, of tasks that permute pixels or do not, and of a run whose numbers are no longer finite."""
    runs = [run(seed, **{"network": {"width": 13}, **TASK, **own}) for seed in (2, 5)]
    learner = trained(runs, IMAGES, compiled=True, kernels=True).agent
    task, network = learner.task, learner.network
    images, labels = learner.to_score.laid_out(task.lessons)
    reader, settings = learner.to_score.reader(network.tested, task.lessons), network.settings["activation"]
    composed = score_of(network.model, learner.pixels, kernels=True)
    expected = sum(composed(reader, settings, images, labels, at, there) for at, there in indices(labels.shape[1], CPU))
    assert torch.equal(learner.many.right(reader, settings, images, labels), expected)


@pytest.mark.parametrize(("normalise", "channels"), [("raw", 1), ("half", 1), ("std", 3)])
def test_a_byte_stands_for_the_number_of_a_pixel(normalise, channels):
    """Of every image, in each channel."""
    own = images(8, 40, 10, channels=channels)
    runs = [run(images=40, normalise=normalise, benchmark="labels")]
    pixels = assembled(runs, own, CPU, compiled=False)[1].pixels
    shown = torch.from_numpy(own.train_images.reshape(40, -1))
    table, channel = brightness_of(pixels, shown.shape[1]), torch.arange(shown.shape[1]) // 64
    assert torch.equal(pixels.scaled(shown), table[channel, shown.long()])


SETTINGS = {
    "K = 1": (1, {"network": {"width": 13}}),
    "K = 3": (3, {"network": {"width": 13}, "activation": "leaky_relu"}),
    "K = 8": (8, {"network": {"width": 100}, "optimizer": ADAMW}),
    "SGD": (2, {"network": {"width": 21, "depth": 1}, "optimizer": {"name": "sgd", "lr": 0.05}}),
    "transitions": (2, {"network": {"width": 13}, "transition_steps": 5}),
    "a pull to 0": (2, {**with_settings("l2", strength=0.03), "network": {"width": 13}}),
    "a pull to the first values": (3, {**with_settings("l2_init", strength=0.03), "network": {"width": 21}}),
    "half a pull, by SGD": (
        2,
        {**with_settings("l2_init", strength=0.03, half=True), "optimizer": {"name": "sgd", "lr": 0.05}},
    ),
    "a pull with AdamW": (2, {**with_settings("l2", strength=0.1), "optimizer": ADAMW}),
    "bounds": (2, {**with_settings("weight_clipping", strength=0.9), "network": {"width": 13}}),
    "bounds by first weights": (
        2,
        {**with_settings("weight_clipping", bound="start", last_layer=False, strength=0.8), "network": {"width": 100}},
    ),
    "diverging": (2, {"network": {"width": 13}, "optimizer": {"name": "sgd", "lr": 1e30}}),
}


def both(width: int, own: dict) -> tuple[Trained, Trained]:
    """Runs trained by calls of many steps, and by the compiled step."""
    runs = [run(seed, **own) for seed in range(width)]
    many = trained(runs, IMAGES, compiled=True, kernels=True)
    with mock.patch.object(SupervisedLearner, "_many_steps", return_value=None):
        single = trained(runs, IMAGES, compiled=True, kernels=True)
    assert many.agent.many is not None
    assert single.agent.many is None
    return many, single


@pytest.mark.slow
@pytest.mark.parametrize("case", SETTINGS)
def test_many_steps_are_the_compiled_step_again_and_again(case):
    """To the bit, measurements, parameters and moments; of the step's graph the C++ is torch's."""
    width, own = SETTINGS[case]
    many, single = both(width, {**TASK, **own})
    for one, other in zip(numbers(many), numbers(single), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_replayed_images_are_learned_in_the_same_calls():
    own = {"tasks": 3, "epochs": 2, "classes_per_task": 2, "images_per_class": 8, "normalise": "raw"}
    many, single = both(2, {"agent": REPLAY, "benchmark": "split_digits", "network": {"width": 13}, **own})
    for one, other in zip(numbers(many), numbers(single), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("activation", BY_KERNEL)
def test_an_activation_is_the_compiled_one(activation):
    """To the bit, with its draws: three runs of 48 steps and their scores."""
    many, single = both(3, {"network": {"width": 13}, "activation": activation, **TASK})
    for one, other in zip(numbers(many), numbers(single), strict=True):
        np.testing.assert_array_equal(one, other)
