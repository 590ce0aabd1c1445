"""Groups of classes, one after another and all at once."""

import itertools

import numpy as np
import pytest

from plasticity_lab.benchmarks.labelled.joint_classes import JointClasses
from plasticity_lab.benchmarks.labelled.split_classes import SplitClasses
from plasticity_lab.benchmarks.labelled.stream import Stream
from plasticity_lab.component import build
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.data.sources import source_named
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.rows import Position
from tests.helpers.packs import choice

LABELS = np.concatenate([np.arange(12), np.random.default_rng(3).permutation(np.repeat(np.arange(12), 8))])
"""Twelve classes of nine images."""
SET = ImageSet(
    "made_up", np.zeros((108, 1, 2, 2), np.uint8), LABELS, np.zeros((48, 1, 2, 2), np.uint8), np.arange(48) % 12,
    classes=12, white=255,
)  # fmt: skip
SHORT = {"source": "made_up", "tasks": 4, "epochs": 3, "steps": None, "batch_size": 5, "classes_per_task": 3}


def split(**settings) -> SplitClasses:
    return SplitClasses(**{**SHORT, "images_per_class": 7, **settings})


def joint(**settings) -> JointClasses:
    return JointClasses(**{**SHORT, "groups": 4, "images_per_class": 7, **settings})


@pytest.mark.parametrize("subset", ["first", "shared", "drawn"])
def test_no_class_and_no_image_comes_in_two_tasks_and_labels_stay_true(subset):
    lessons = [split(subset=subset).lesson(SET, 1, position) for position in range(4)]
    for of in (
        lambda lesson: set(lesson.labels),
        lambda lesson: set(lesson.images),
        lambda lesson: set(lesson.held_out),
    ):
        every = [element for lesson in lessons for element in of(lesson)]
        assert len(every) == len(set(every))
    for lesson in lessons:
        assert np.bincount(lesson.labels, minlength=12).max() == np.bincount(lesson.labels)[lesson.labels].min() == 7
        assert np.array_equal(SET.train_labels[lesson.images], lesson.labels)
        assert np.array_equal(SET.test_labels[lesson.held_out], lesson.held_out_labels)
        assert {*lesson.labels} == {*lesson.held_out_labels}
        assert len(lesson.held_out) == 3 * 4
    assert {label for lesson in lessons for label in lesson.labels} == set(range(12))


def test_the_first_tasks_are_the_same_however_many_there_are():
    for made in (split, joint):
        few, many = made(tasks=2), made(tasks=4)
        for position in range(2):
            one, other = few.lesson(SET, 5, position), many.lesson(SET, 5, position)
            assert np.array_equal(one.images, other.images)
            assert np.array_equal(one.held_out, other.held_out)
            orders = [each.order_of(one.labels, 5, position, 2) for each in (few, many)]
            assert np.array_equal(*orders)


def test_joint_training_is_evaluated_as_its_split_twin_and_trains_on_everything():
    for position in range(4):
        lesson, twin = joint().lesson(SET, 2, position), split().lesson(SET, 2, position)
        assert np.array_equal(lesson.held_out, twin.held_out)
        assert len(lesson.images) == joint().max_images == 84
        every = {image for task in range(4) for image in split().lesson(SET, 2, task).images}
        assert set(lesson.images) == every


@pytest.mark.parametrize(("epochs", "steps"), [(None, 2), (None, 17), (1, None), (3, None), (3, 7), (1, 7)])
def test_both_take_as_many_steps_of_the_same_sizes_whatever_is_set(epochs, steps):
    def lengths(benchmark):
        tasks = [Stream(benchmark, SET, [0]).task(position) for position in range(benchmark.tasks)]
        chunks = [chunk for task in tasks for chunk in task.chunks(Position(0, 0))]
        return [(chunk.task, chunk.epoch, chunk.first, chunk.steps, chunk.counts.tolist()) for chunk in chunks]

    for size, tasks in itertools.product([5, 21], [1, 4]):
        one, other = (made(epochs=epochs, steps=steps, batch_size=size, tasks=tasks) for made in (split, joint))
        assert lengths(one) == lengths(other)


@pytest.mark.parametrize("order", ["shuffle", "fixed"])
def test_epochs_of_joint_training_are_passes_over_all_images_cut_in_parts(order):
    benchmark = joint(order=order, epochs=3)
    labels = benchmark.lesson(SET, 2, 0).labels
    epochs = [benchmark.order_of(labels, 2, task, epoch) for task in range(4) for epoch in range(3)]
    passes = [np.concatenate(epochs[start : start + 4]) for start in (0, 4, 8)]
    for each in passes:
        assert sorted(each) == list(range(84))
    assert np.array_equal(passes[0], passes[1]) == (order == "fixed")
    assert len(set(labels[epochs[0]])) > 6, "an epoch has images of many groups"


def test_orders_of_split_training():
    lesson = split().lesson(SET, 0, 1)
    blocks = split(order="class_blocks").order_of(lesson.labels, 0, 1, 0)
    assert (np.diff(lesson.labels[blocks]) >= 0).all()
    assert len(np.unique(np.diff(lesson.labels))) > 3, "in the order of the file, which mixes the classes"
    shuffled = [split().order_of(lesson.labels, 0, 1, epoch) for epoch in range(2)]
    assert not np.array_equal(*shuffled)


def test_the_first_held_out_images_are_of_all_classes_of_the_group():
    assert len(set(split(eval_images=3).lesson(SET, 0, 2).held_out_labels)) == 3


@pytest.mark.parametrize("made", [split, joint])
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"classes_per_task": 0}, "benchmark.classes_per_task is 0; it must be at least 1"),
        ({"classes_per_task": 4}, "has 12 classes; 4 groups of 4, no class in two, need 16. Lower benchmark."),
        ({"images_per_class": 10}, "benchmark.images_per_class is 10; made_up has a class of 9 training images"),
        ({"subset": "each_task"}, "it must be one of first, shared, drawn"),
        ({"batch_size": 22}, "benchmark.batch_size is 22, and the largest task has 21 training images"),
    ],
)
def test_what_does_not_fit_is_refused(made, settings, words):
    with pytest.raises(ConfigError) as raised:
        made(**settings).lesson(SET, 0, 0)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tasks": 5}, "benchmark.tasks is 5, and each is evaluated on a separate group; it must be at most"),
        ({"order": "class_blocks"}, "it must be one of fixed, shuffle"),
        ({"groups": 5}, "Lower benchmark.groups or benchmark.classes_per_task"),
    ],
)
def test_joint_training_refuses_what_is_none(settings, words):
    with pytest.raises(ConfigError) as raised:
        joint(**settings).lesson(SET, 0, 0)
    assert words in str(raised.value)


def test_split_cifar100_and_its_twin_are_as_long_as_published():
    outline = source_named("cifar100").outline()
    one, other = (
        build("benchmark", name, *choice("benchmark", name)) for name in ("split_cifar100", "split_cifar100_joint")
    )
    assert one.total_steps == other.total_steps == 20 * 100 * 79
    assert (one.max_images, other.max_images) == (2_500, 50_000)
    assert one.total_epochs * one.max_images == 100 * other.max_images, "100 passes over all images"
    lesson, joint_lesson = one.lesson(outline, 0, 19), other.lesson(outline, 0, 19)
    assert (len(lesson.images), len(lesson.held_out), one.outputs(outline)) == (2_500, 500, 100)
    assert (len(joint_lesson.images), len(joint_lesson.held_out)) == (50_000, 500)
