"""Warm starts, growing data, noisy starts and single examples: each against a generator written separately here."""

import numpy as np
import pytest

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream
from tests.helpers.packs import choice, differing, images, run, trained

IMAGES = images(8, 90, 30)
LENGTH = {"source": "made_up", "images": 45, "epochs": 2, "steps": None, "batch_size": 8, "subset": "drawn"}
ONLINE = LENGTH | {"images": 9, "tasks": 3, "epochs": 1, "batch_size": 1, "subset": "each_task"}
SHORT = {
    "warm_start": LENGTH | {"tasks": 2, "share": 0.3},
    "growing": LENGTH | {"tasks": 3, "chunks": 4},
    "noisy_start": LENGTH | {"tasks": 2, "noise": 0.4},
    "permuted_online": ONLINE,
}
OTHERS = {
    "growing": {"accumulate": False, "batch_size": 4},
    "noisy_start": {"noise": 1.0},
    "permuted_online": {"permuted": "labels"},
    "warm_start": {"share": 0.9},
}


def made(name: str, **settings) -> LabelledBenchmark:
    return build("benchmark", name, choice("benchmark", name)[0], SHORT[name] | settings)


def drawn(seed: int) -> np.ndarray:
    """The run's 45 images of the 90."""
    return host_stream(seed, "subset").permutation(90)[:45]


def held_out_is_the_test_set(lesson, labels=IMAGES.test_labels) -> bool:
    whole = np.array_equal(lesson.held_out, np.arange(30)) and np.array_equal(lesson.held_out_labels, labels)
    return whole and lesson.held_out_split == "test"


def test_a_warm_start_has_the_first_share_and_then_all_images():
    benchmark = made("warm_start")
    assert [benchmark.images_of(position) for position in (0, 1)] == [13, 45]  # 0.3 · 45 = 13.5
    assert (benchmark.steps_of(0), benchmark.total_steps) == (2 * 2, 2 * 2 + 2 * 6)
    for seed in (0, 7):
        first, second = (benchmark.lesson(IMAGES, seed, position) for position in (0, 1))
        assert first.images.tolist() == drawn(seed).tolist()[:13]
        assert second.images.tolist() == drawn(seed).tolist()
        for lesson in (first, second):
            assert np.array_equal(lesson.labels, IMAGES.train_labels[lesson.images])
            assert held_out_is_the_test_set(lesson)


@pytest.mark.parametrize("accumulate", [True, False])
def test_chunks_arrive_one_after_another(accumulate):
    benchmark = made("growing", accumulate=accumulate, tasks=4)
    chunks = np.split(drawn(3), [11, 22, 33])  # 45 images in four chunks: 11, 11, 11 and 12
    taken = 0
    for position in range(4):
        expected = np.concatenate(chunks[: position + 1]) if accumulate else chunks[position]
        lesson = benchmark.lesson(IMAGES, 3, position)
        assert np.array_equal(lesson.images, expected)
        assert np.array_equal(lesson.labels, IMAGES.train_labels[expected])
        assert held_out_is_the_test_set(lesson)
        assert (benchmark.images_of(position), benchmark.steps_before(position)) == (len(expected), taken)
        taken += 2 * -(-len(expected) // 8)
    assert benchmark.total_steps == taken


def test_a_noisy_start_replaces_a_part_of_the_first_labels():
    benchmark = made("noisy_start")
    noisy, true = (benchmark.lesson(IMAGES, 5, position) for position in (0, 1))
    draw = host_stream(5, "noisy labels")
    hit, replaced = draw.random(45) < 0.4, draw.integers(0, 10, 45)
    expected = [replaced[row] if hit[row] else IMAGES.train_labels[image] for row, image in enumerate(drawn(5))]
    assert noisy.labels.tolist() == expected != true.labels.tolist()
    assert np.array_equal(true.labels, IMAGES.train_labels[drawn(5)])
    assert held_out_is_the_test_set(noisy)
    assert held_out_is_the_test_set(true)


def test_single_examples_come_in_another_order_of_pixels_or_under_other_names_each_task():
    pixels, labels = made("permuted_online"), made("permuted_online", permuted="labels")
    assert (pixels.total_steps, pixels.epochs_of(0)) == (27, 1)
    for position in range(3):
        chosen = host_stream(2, "subset", "task", position).permutation(90)[:9]
        lesson = pixels.lesson(IMAGES, 2, position)
        assert np.array_equal(lesson.images, chosen)
        assert np.array_equal(lesson.pixels, host_stream(2, "pixels", position).permutation(64))
        assert np.array_equal(lesson.labels, IMAGES.train_labels[chosen])
        named, names = labels.lesson(IMAGES, 2, position), host_stream(2, "names", position).permutation(10)
        assert named.pixels is None
        assert np.array_equal(named.images, chosen)
        assert named.labels.tolist() == [names[IMAGES.train_labels[image]] for image in chosen]
        assert held_out_is_the_test_set(named, names[IMAGES.test_labels])
        assert np.array_equal(labels.order_of(named.labels, 2, position, 0), np.arange(9))


@pytest.mark.walk(2)
@pytest.mark.parametrize("name", SHORT)
def test_a_run_is_the_same_alone_packed_with_other_rates_and_killed_within_a_task(name, monkeypatch):
    monkeypatch.setattr("plasticity_lab.benchmarks.labelled.stream.CHUNK_STEPS", 4)

    def of(seed: int, rate: float):
        settings = SHORT[name] | OTHERS[name]
        return run(seed, benchmark=name, network={"width": 13}, optimizer={"lr": rate}, **settings)

    alone = trained([of(1, 1e-3)], IMAGES).of(0)
    packed = trained([of(2, 1e-2), of(1, 1e-3), of(1, 3e-3)], IMAGES, stops=(2, 3))
    assert not differing(alone, packed.of(1))
    assert differing(alone, packed.of(2))


def test_images_under_permuted_labels_may_be_shifted_and_mirrored(monkeypatch):
    monkeypatch.setattr("plasticity_lab.benchmarks.labelled.stream.CHUNK_STEPS", 4)

    def of(seed: int, **settings):
        return run(seed, benchmark="permuted_online", network={"width": 13}, **ONLINE, permuted="labels", **settings)

    alone = trained([of(1, augment="crop_flip")], IMAGES).of(0)
    packed = trained([of(seed, augment="crop_flip") for seed in (2, 1)], IMAGES, stops=(2, 3))
    assert not differing(alone, packed.of(1))
    assert differing(alone, trained([of(1)], IMAGES).of(0))
    with pytest.raises(ConfigError, match=r"permuted pixels.*augment=none"):
        made("permuted_online", augment="flip")


@pytest.mark.parametrize(
    ("name", "settings", "word"),
    [
        ("warm_start", {"tasks": 3}, "benchmark.tasks"),
        ("warm_start", {"share": 1.0}, "benchmark.share"),
        ("growing", {"tasks": 5}, "benchmark.chunks, 4"),
        ("growing", {"chunks": 46}, "benchmark.chunks"),
        ("noisy_start", {"noise": 0.0}, "benchmark.noise"),
        ("permuted_online", {"permuted": "tasks"}, "benchmark.permuted"),
    ],
)
def test_a_setting_out_of_range_is_named(name, settings, word):
    with pytest.raises(ConfigError, match=word):
        made(name, **settings)
