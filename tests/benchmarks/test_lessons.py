import itertools

import numpy as np
import pytest

from plasticity_lab.benchmarks.labelled.benchmark import SUBSETS, LabelledBenchmark
from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError
from tests.helpers.packs import BENCHMARKS, choice, images

IMAGES = images(8, 300, 80)
KINDS = sorted(BENCHMARKS)


def benchmark(kind: str, **settings) -> LabelledBenchmark:
    plain = {"source": "made_up", "images": 200, "tasks": 4, "epochs": 1, "steps": None, "batch_size": 16}
    return build("benchmark", kind, BENCHMARKS[kind], plain | settings)


@pytest.mark.parametrize(
    ("name", "tasks", "steps", "last_batch", "trained_on", "evaluated_on"),
    [  # Table E1, and its little sisters; None: as many as the data set has
        ("permuted_mnist", 500, 625, 16, 10_000, None),
        ("random_label_mnist", 50, 30_000, 16, 1_200, 1_200),
        ("random_label_cifar", 50, 30_000, 16, 1_200, 1_200),
        ("permuted_mnist_20", 20, 625, 16, 10_000, None),
        ("permuted_digits_20", 20, 63, 8, 1_000, None),
        ("permuted_digits", 100, 90, 13, 1_437, None),
        ("random_label_digits", 50, 2_500, 16, 400, 400),
    ],
)
def test_lengths_are_as_published(name, tasks, steps, last_batch, trained_on, evaluated_on):
    made = build("benchmark", name, *choice("benchmark", name))
    assert (made.tasks, made.batch_size, made.images_of(0)) == (tasks, 16, trained_on)
    assert {made.steps_of(position) for position in range(tasks)} == {steps}
    assert made.total_steps == tasks * steps
    assert trained_on - (made.batches_of(0) - 1) * 16 == last_batch
    assert made.epochs_of(0) * made.batches_of(0) == steps
    large = images(2, 10_000, 77)
    assert len(made.lesson(large, 0, 0).held_out) == (evaluated_on or 77)


@pytest.mark.parametrize(
    ("epochs", "steps", "taken", "begun"),
    [(2, None, 26, 2), (None, 20, 20, 2), (3, 20, 20, 2), (1, 20, 13, 1), (None, 13, 13, 1), (None, 1, 1, 1)],
)
def test_a_task_ends_after_its_epochs_or_its_steps_whichever_is_first(epochs, steps, taken, begun):
    made = benchmark("pixels", epochs=epochs, steps=steps)
    assert (made.steps_of(0), made.epochs_of(0), made.total_steps) == (taken, begun, 4 * taken)


def test_permuted_pixels_keeps_labels_and_shows_test_images_in_the_same_order():
    made = benchmark("pixels")
    for position in range(3):
        lesson = made.lesson(IMAGES, 5, position)
        assert np.array_equal(lesson.images, np.arange(200))
        assert np.array_equal(lesson.labels, IMAGES.train_labels[:200])
        assert np.array_equal(np.sort(lesson.pixels), np.arange(64))
        assert not np.array_equal(lesson.pixels, np.arange(64))
        assert np.array_equal(lesson.held_out_labels, IMAGES.test_labels)
        assert (lesson.held_out_split, lesson.hard) == ("test", True)
    orders = {made.lesson(IMAGES, seed, position).pixels.tobytes() for seed in (5, 6) for position in range(3)}
    assert len(orders) == 6, "each seed and each task has its own"


def test_random_labels_are_iid_uniform_and_evaluated_on_the_tasks_own_images():
    made = benchmark("labels")
    lessons = [made.lesson(IMAGES, seed, position) for seed in range(10) for position in range(10)]
    labels = np.stack([lesson.labels for lesson in lessons])
    counts = np.bincount(labels.ravel(), minlength=10)
    expected = labels.size / 10
    assert ((counts - expected) ** 2 / expected).sum() < 9 + 5 * np.sqrt(18)
    # Independent from task to task, and of the true label: equal once in ten.
    chance, deviation = 0.1, np.sqrt(0.09 / (99 * 200))
    assert abs((labels[1:] == labels[:-1]).mean() - chance) < 5 * deviation
    assert abs((labels[1:] == IMAGES.train_labels[:200]).mean() - chance) < 5 * deviation
    # Counts vary as those of independent draws, unlike those of a permutation.
    assert len({tuple(np.bincount(row, minlength=10)) for row in labels}) > 90
    for lesson in lessons:
        assert lesson.pixels is None
        assert lesson.held_out_split == "train"
        assert np.array_equal(lesson.held_out, lesson.images)
        assert np.array_equal(lesson.held_out_labels, lesson.labels)


@pytest.mark.parametrize("subset", SUBSETS)
def test_permuted_labels_are_those_of_the_tasks_own_images_in_another_order(subset):
    made = benchmark("labels", labels="permute", subset=subset)
    lessons = [made.lesson(IMAGES, 1, position) for position in range(4)]
    for lesson in lessons:
        own = IMAGES.train_labels[lesson.images]
        assert sorted(lesson.labels) == sorted(own)
        assert not np.array_equal(lesson.labels, own)
    assert len({lesson.labels.tobytes() for lesson in lessons}) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_which_images_a_subset_has_by_seed_and_task(kind):
    def chosen(subset):
        made = benchmark(kind, subset=subset)
        found = [[made.lesson(IMAGES, seed, task).images for task in range(3)] for seed in range(3)]
        assert all(len(np.unique(each)) == 200 for own in found for each in own)
        return found, [len({each.tobytes() for each in own}) for own in (found[0], [each[0] for each in found])]

    assert chosen("drawn")[1] == [1, 3]
    shared, counts = chosen("shared")
    assert counts == [1, 1]
    assert not np.array_equal(np.sort(shared[0][0]), np.arange(200))
    each_task, counts = chosen("each_task")
    assert counts == [3, 3]
    # Of 300 images each is in two of three: two tasks share as many as chance has it.
    common = len(np.intersect1d(*each_task[0][:2]))
    assert abs(common - 200 * 2 / 3) < 5 * np.sqrt(200 * 2 / 9)
    with pytest.raises(ConfigError, match=r"benchmark\.subset is 'each_task'.*must be one of first, shared, drawn\."):
        benchmark(kind, subset="each_task").chosen(IMAGES, 0)


def test_the_first_task_can_show_the_images_as_they_are():
    made, plain = benchmark("pixels", unpermuted_first=True), benchmark("pixels")
    assert made.lesson(IMAGES, 5, 0).pixels is None
    assert np.array_equal(made.lesson(IMAGES, 5, 1).pixels, plain.lesson(IMAGES, 5, 1).pixels)
    assert type(made).canonical({"unpermuted_first": False, "tasks": 3}) == {"tasks": 3}


@pytest.mark.parametrize(("kind", "there"), [("pixels", 80), ("labels", 200)])
def test_eval_images_takes_the_first_of_those_that_are_there(kind, there):
    everything = benchmark(kind).lesson(IMAGES, 2, 1)
    for asked, got in ((None, there), (33, 33), (1000, there)):
        lesson = benchmark(kind, eval_images=asked).lesson(IMAGES, 2, 1)
        assert np.array_equal(lesson.held_out, everything.held_out[:got])
        assert np.array_equal(lesson.held_out_labels, everything.held_out_labels[:got])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["fixed", "shuffle", "class_blocks"])
def test_orders_show_every_image_once(kind, order):
    made = benchmark(kind, order=order)
    labels = made.lesson(IMAGES, 3, 1).labels
    shown = {place: made.order_of(labels, *place) for place in itertools.product((3, 4), (1, 2), (0, 1))}
    assert all(np.array_equal(np.sort(row), np.arange(200)) for row in shown.values())
    assert len({row.tobytes() for row in shown.values()}) == (8 if order == "shuffle" else 1)
    assert np.array_equal(shown[3, 1, 1], made.order_of(labels, 3, 1, 1))
    if order == "fixed":
        assert np.array_equal(shown[3, 1, 0], np.arange(200))
    if order == "class_blocks":
        assert (np.diff(labels[shown[3, 1, 0]]) >= 0).all()
        assert all((np.diff(shown[3, 1, 0][labels[shown[3, 1, 0]] == label]) > 0).all() for label in range(10))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"epochs": None}, "benchmark.epochs and benchmark.steps are both null"),
        ({"tasks": 0}, "benchmark.tasks is 0; it must be at least 1"),
        ({"order": "sorted"}, "benchmark.order is 'sorted'; it must be one of fixed, shuffle, class_blocks"),
        ({"normalise": "none"}, "benchmark.normalise is 'none'; it must be one of raw, std, half"),
        ({"subset": "last"}, "benchmark.subset is 'last'; it must be one of first, shared, drawn, each_task"),
        ({"images": 0}, "benchmark.images is 0; it must be at least 1"),
        ({"batch_size": 0}, "benchmark.batch_size is 0; it must be at least 1"),
        ({"batch_size": 201}, "benchmark.batch_size is 201, and the largest task has 200 training images"),
        ({"eval_images": 0}, "benchmark.eval_images is 0; it must be at least 1"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_settings_out_of_range_are_refused(kind, settings, sentence):
    with pytest.raises(ConfigError) as raised:
        benchmark(kind, **settings)
    assert sentence in str(raised.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("subset", ["first", "drawn"])
def test_more_images_than_there_are_is_refused(kind, subset):
    with pytest.raises(ConfigError, match=r"benchmark.images is 301; made_up has 300 training images\."):
        benchmark(kind, images=301, subset=subset).lesson(IMAGES, 0, 0)


def test_pixels_are_not_permuted_across_channels_that_are_scaled_apart():
    made = benchmark("pixels", images=8, batch_size=8, normalise="std")
    assert len(made.lesson(images(2, 8, 8), 0, 0).labels) == 8
    with pytest.raises(ConfigError, match=r"benchmark\.normalise is std.*must be raw or half"):
        made.lesson(images(2, 8, 8, channels=3), 0, 0)
