"""Gradual change between tasks: the shares, the mixed examples, and a kill within a transition."""

import numpy as np
import pytest

from launch.command import resolve
from plasticity_lab.benchmarks.labelled.stream import Stream
from plasticity_lab.benchmarks.labelled.transition import shares_of
from plasticity_lab.component import build
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.rows import Position
from tests.helpers.packs import BENCHMARKS, choice, differing, images, run, trained

IMAGES = images(8, 300, 120, classes=12)
LENGTH = {"source": "made_up", "tasks": 3, "epochs": 2, "steps": None, "batch_size": 7}
CLASSES = {
    "pixels": {"images": 30, "unpermuted_first": True},
    "labels": {"images": 30, "order": "shuffle"},
    "continual_digits": {"classes_per_task": 2, "images_per_class": 14, "classes_repeat": True},
    "digits51": {"classes_hard": 3, "classes_easy": 1, "images_per_class": 10, "classes_repeat": True},
    "split_digits": {"classes_per_task": 2, "images_per_class": 14},
}


def a_run(name: str, seed: int, **settings):
    agent = {"agent": ("replay", *choice("agent", "experience_replay"))} if name == "split_digits" else {}
    return run(seed, benchmark=name, network={"width": 9}, **agent, **LENGTH | CLASSES[name] | settings)


def test_the_shares_rise_by_equal_parts_and_end_with_the_transition():
    benchmark = build("benchmark", "labels", BENCHMARKS["labels"], LENGTH | {"images": 30, "transition_steps": 7})
    assert shares_of(benchmark, [4], 0, 0) is None
    first, second = (shares_of(benchmark, [4, 5], 1, epoch) for epoch in (0, 1))
    by_hand = np.array([1, 2, 3, 4, 5, 6, 7, 8, 8, 8], np.float32) / np.float32(8)
    found = np.concatenate([first, second], axis=1)
    assert found.shape == (2, 10, 7)
    assert np.array_equal(found, np.broadcast_to(by_hand[:, None], found.shape))
    benchmark.transition_steps = 5
    assert shares_of(benchmark, [4], 1, 1) is None
    benchmark.transition, benchmark.transition_steps = "sample", 3
    drawn = shares_of(benchmark, [4, 5], 2, 0)
    for of_run, seed in zip(drawn, (4, 5), strict=True):
        below = host_stream(seed, "transition", 2, 0).random((5, 7)) < np.array([0.25, 0.5, 0.75, 1, 1])[:, None]
        assert np.array_equal(of_run, below)


@pytest.mark.parametrize("name", ["pixels", "labels"])
@pytest.mark.parametrize("kind", ["interpolate", "sample"])
def test_the_first_loss_of_a_task_is_that_of_examples_and_labels_mixed_by_a_separate_generator(name, kind):
    settings = {"transition_steps": 4, "transition": kind, "unpermuted_first": False}
    settings = {
        key: value for key, value in settings.items() if key in ("transition_steps", "transition") or name == "pixels"
    }
    whole, one = a_run(name, 3, **settings), a_run(name, 3, **settings, tasks=1)
    loss = trained([whole], IMAGES).of(0)["loss"][10]
    weights = trained([one], IMAGES).agent.weights()
    stream = Stream(build("benchmark", name, BENCHMARKS[name], LENGTH | CLASSES[name] | settings), IMAGES, [3])
    old, new = (stream.benchmark.lesson(IMAGES, 3, position) for position in (0, 1))
    chosen = stream.benchmark.order_of(new.labels, 3, 1, 0)[:7]
    share = np.full(7, 0.2)
    if kind == "sample":
        share = host_stream(3, "transition", 1, 0).random((5, 7))[0] < 0.2
    x, targets = np.zeros((7, 64)), np.zeros((7, 12))
    for row, at in enumerate(chosen):
        for part, lesson in ((share[row], new), (1 - share[row], old)):
            seen = IMAGES.train_images[lesson.images[at]].ravel() / 255
            x[row] += part * (seen if lesson.pixels is None else seen[lesson.pixels])
            targets[row, lesson.labels[at]] += part
    layers = [each.removesuffix(".weight") for each in weights if each.endswith(".weight")]
    for layer in layers:
        weight, bias = (weights[f"{layer}.{part}"][0].double().numpy() for part in ("weight", "bias"))
        x = x[:, : len(weight)] @ weight + bias
        x = x[:, :12] if layer == layers[-1] else np.maximum(x, 0)
    log_shares = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    assert loss == pytest.approx(-(targets * log_shares).sum(axis=1).mean(), rel=1e-5)


@pytest.mark.walk(2)
@pytest.mark.parametrize("name", CLASSES)
def test_a_run_is_the_same_alone_packed_and_killed_within_a_transition(name):
    kind = {"transition_steps": 9, "transition": "sample" if name in ("labels", "digits51") else "interpolate"}
    alone = trained([a_run(name, 1, **kind)], IMAGES).of(0)
    packed = trained([a_run(name, seed, **kind) for seed in (4, 1)], IMAGES, stops=(4,))  # after task 1's first epoch
    assert not differing(alone, packed.of(1))
    abrupt = trained([a_run(name, 1)], IMAGES).of(0)
    assert np.array_equal(alone["loss"][:8], abrupt["loss"][:8])  # the first task
    assert differing(alone, abrupt)


def test_a_kill_between_every_two_chunks_of_a_transition_changes_nothing(monkeypatch):
    monkeypatch.setattr("plasticity_lab.benchmarks.labelled.stream.CHUNK_STEPS", 2)
    kind = {"transition_steps": 9, "transition": "sample"}
    stream = Stream(build("benchmark", "labels", BENCHMARKS["labels"], LENGTH | CLASSES["labels"] | kind), IMAGES, [1])
    whole = [chunk for task in stream.tasks(Position(1, 0)) for chunk in task.chunks(Position(1, 0))]
    for chunk in whole:
        after = Position(chunk.task, chunk.first - 10 * chunk.task)
        resumed = next(next(iter(stream.tasks(after))).chunks(after))
        assert (chunk.shares is None) == (resumed.shares is None)
        assert chunk.shares is None or np.array_equal(chunk.shares, resumed.shares)


def test_no_transition_leaves_every_id_as_it_is():
    plain, neutral, gradual = (
        resolve(["benchmark=permuted_digits", *words]).runs[0].id
        for words in ([], ["benchmark.transition=sample"], ["benchmark.transition_steps=10"])
    )
    assert plain == neutral != gradual
