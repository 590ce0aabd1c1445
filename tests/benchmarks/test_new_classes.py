"""Pairs of classes that have not been seen before: which classes, images and labels a task has."""

import numpy as np
import pytest

from plasticity_lab.benchmarks.labelled.benchmark import SUBSETS
from plasticity_lab.benchmarks.labelled.new_classes import NewClasses
from plasticity_lab.component import build
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.data.sources import load_images, source_named
from plasticity_lab.errors import ConfigError
from tests.helpers.packs import choice


def made(train: int = 9, test: int = 4, classes: int = 12) -> ImageSet:
    """Images that hold their own class, the last class with one test image more."""

    def some(count: int, more: int = 0) -> tuple[np.ndarray, np.ndarray]:
        labels = np.append(np.tile(np.arange(classes), count), [classes - 1] * more).astype(np.int64)
        return np.broadcast_to(labels[:, None, None, None], (len(labels), 1, 2, 2)).astype(np.uint8), labels

    return ImageSet("made_up", *some(train), *some(test, more=1), classes=classes, white=255)


SET = made()


def benchmark(**settings) -> NewClasses:
    plain = {"source": "made_up", "tasks": 6, "epochs": 2, "steps": None, "batch_size": 5, "images_per_class": 7}
    return NewClasses(**(plain | settings))


def test_no_class_comes_twice_and_each_task_calls_its_own_0_and_1():
    lessons = [benchmark().lesson(SET, 3, position) for position in range(6)]
    seen = np.concatenate([np.unique(SET.train_labels[lesson.images]) for lesson in lessons])
    assert sorted(seen) == list(range(12))
    for position, lesson in enumerate(lessons):
        classes = benchmark().classes_of(3, position, 12)
        assert np.array_equal(classes[lesson.labels], SET.train_labels[lesson.images])
        assert np.array_equal(classes[lesson.held_out_labels], SET.test_labels[lesson.held_out])
        assert np.bincount(lesson.labels).tolist() == [7, 7]
        assert np.bincount(lesson.held_out_labels).tolist() == [4, 4], "as many as the rarest class has"
        assert len(np.unique(lesson.images)) == 14
        assert (lesson.hard, lesson.held_out_split, lesson.pixels) == (True, "test", None)
    assert len({tuple(benchmark().classes_of(seed, 0, 12)) for seed in range(5)}) > 1


def test_classes_that_repeat_come_once_in_each_order():
    repeated = benchmark(tasks=100, classes_repeat=True, classes_per_task=5)
    for order in range(3):  # twelve classes make two tasks of five, and two classes are left out
        pair = [repeated.classes_of(1, 2 * order + place, 12) for place in range(2)]
        assert len(np.unique(np.concatenate(pair))) == 10
    assert repeated.outputs(SET) == 5
    assert repeated.lesson(SET, 1, 99).labels.max() == 4


@pytest.mark.parametrize("subset", SUBSETS)
def test_subsets(subset):
    own = benchmark(subset=subset, tasks=12, classes_repeat=True)

    def of(seed: int, position: int) -> dict[int, bytes]:
        lesson = own.lesson(SET, seed, position)
        return {
            int(label): np.sort(lesson.images[SET.train_labels[lesson.images] == label]).tobytes()
            for label in own.classes_of(seed, position, 12)
        }

    first, again = of(0, 0), {label: each for position in range(6, 12) for label, each in of(0, position).items()}
    assert all(again[label] == each for label, each in first.items()) == (subset != "each_task")
    others = {label: each for position in range(6) for label, each in of(1, position).items()}
    assert all(others[label] == each for label, each in first.items()) == (subset in ("first", "shared"))


def test_orders_mix_the_classes_or_do_not():
    fixed, blocks, shuffled = (benchmark(order=order) for order in ("fixed", "class_blocks", "shuffle"))
    lesson = fixed.lesson(SET, 0, 0)
    assert len(np.unique(np.diff(lesson.labels))) == 3, "as they come, both classes in turn"
    assert np.array_equal(fixed.order_of(lesson.labels, 0, 0, 1), np.arange(14))
    in_blocks = blocks.lesson(SET, 0, 0)
    assert (np.diff(in_blocks.labels[blocks.order_of(in_blocks.labels, 0, 0, 1)]) >= 0).all()
    assert not np.array_equal(shuffled.order_of(lesson.labels, 0, 0, 0), shuffled.order_of(lesson.labels, 0, 0, 1))


def test_the_first_held_out_images_are_of_all_classes():
    assert benchmark(eval_images=6).lesson(SET, 0, 0).held_out_labels.tolist() == [0, 1] * 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"classes_per_task": 1}, "benchmark.classes_per_task is 1; it must be at least 2"),
        ({"images_per_class": 0}, "benchmark.images_per_class is 0; it must be at least 1"),
        ({"tasks": 7}, "has 12 classes; 7 tasks of 2, no class twice, need 14. Lower benchmark.tasks, or"),
        ({"classes_per_task": 13, "classes_repeat": True}, "no class twice, need 13. Lower benchmark.classes_per_task"),
        ({"images_per_class": 10}, "benchmark.images_per_class is 10; made_up has a class of 9 training images"),
    ],
)
def test_what_does_not_fit_is_refused(settings, words):
    with pytest.raises(ConfigError) as raised:
        benchmark(**settings).lesson(SET, 0, 0)
    assert words in str(raised.value)


def test_the_benchmarks_are_as_long_as_published_and_their_sister_needs_no_download(tmp_path):
    imagenet = build("benchmark", "continual_imagenet", *choice("benchmark", "continual_imagenet"))
    assert (imagenet.tasks, imagenet.max_images, imagenet.steps_of(0), imagenet.epochs_of(0)) == (500, 1200, 120, 10)
    lesson = imagenet.lesson(source_named("imagenet32").outline(), 0, 499)
    assert (len(lesson.images), len(lesson.held_out)) == (1200, 200)
    digits = build("benchmark", "continual_digits", *choice("benchmark", "continual_digits"))
    assert digits.steps_of(0) == 140
    assert digits.lesson(load_images("digits", tmp_path), 0, 99).labels.tolist() == [0] * 140 + [1] * 140
