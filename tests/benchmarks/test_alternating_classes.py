"""5+1 tasks: which classes and images they hold, in which order they come, and what metrics count of them."""

from dataclasses import replace

import numpy as np
import pytest

from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.labelled.alternating_classes import AlternatingClasses
from plasticity_lab.benchmarks.labelled.stream import Stream
from plasticity_lab.component import build, typed
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.data.sources import source_named
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.rows import Position, Rows
from tests.helpers.packs import CPU, choice, images, run

TARGET = "plasticity_lab.benchmarks.labelled.alternating_classes.AlternatingClasses"
SMALL = {"source": "made_up", "tasks": 3, "epochs": None, "steps": 10, "batch_size": 16,
         "classes_hard": 4, "classes_easy": 2, "images_per_class": 10}  # fmt: skip
IMAGES = images(8, 300, 120)


def made(**settings) -> AlternatingClasses:
    return build("benchmark", "small", TARGET, SMALL | settings)


def published(name: str = "cifar51") -> AlternatingClasses:
    return build("benchmark", name, *choice("benchmark", name))


@pytest.fixture(scope="module")
def cifar100() -> ImageSet:
    """Images without content, as many of each class as CIFAR-100 has."""
    return source_named("cifar100").outline()


def test_the_published_stream_has_15_hard_and_15_easy_tasks_and_no_class_twice(cifar100):
    benchmark = published()
    for seed in (0, 1):
        lessons = [benchmark.lesson(cifar100, seed, position) for position in range(benchmark.tasks)]
        assert [lesson.hard for lesson in lessons] == [True, False] * 15
        assert [len(lesson.labels) for lesson in lessons] == [2500, 500] * 15
        assert [len(np.unique(lesson.labels)) for lesson in lessons] == [5, 1] * 15
        seen = np.concatenate([np.unique(lesson.labels) for lesson in lessons])
        assert len(np.unique(seen)) == len(seen) == 90
        for lesson in lessons:
            assert np.unique(np.bincount(lesson.labels)).tolist() == [0, 500]
            assert np.array_equal(lesson.labels, cifar100.train_labels[lesson.images])
            assert len(np.unique(lesson.images)) == len(lesson.images)


def test_the_published_tasks_take_780_steps_and_end_an_epoch_with_a_batch_of_4():
    benchmark = published()
    assert {benchmark.steps_of(position) for position in range(30)} == {780}
    assert [benchmark.batches_of(position) for position in (0, 1)] == [79, 16]  # 78 × 32 + 4, 15 × 32 + 20
    assert [benchmark.epochs_of(position) for position in (0, 1)] == [10, 49]
    assert benchmark.total_steps == 23_400
    assert [benchmark.images_of(position) for position in (0, 1)] == [2500, 500]
    assert benchmark.max_images == 2500


def test_batches_cycle_through_the_images_until_the_steps_are_over(cifar100):
    stream = Stream(published(), cifar100, [3])
    for task, (batches, last) in zip(stream.tasks(Position(28, 0)), [(79, 4), (16, 20)], strict=True):
        chunks = list(task.chunks(Position(0, 0)))
        counts = np.concatenate([chunk.counts for chunk in chunks])
        assert counts.tolist() == [last if (step + 1) % batches == 0 else 32 for step in range(780)]
        assert {chunk.marks["hard"] for chunk in chunks} == {task.marks["hard"]}
        for epoch in chunks[:-1]:
            shown = epoch.images[0].ravel()[: epoch.counts.sum()]
            assert np.array_equal(shown, np.arange(len(task.lessons[0].labels)))


def test_class_blocks_come_in_the_order_the_classes_were_drawn(cifar100):
    benchmark = published()
    orders = []
    for position in range(0, 30, 2):
        lesson = benchmark.lesson(cifar100, 0, position)
        order = benchmark.order_of(lesson.labels, 0, position, epoch=3)
        drawn = benchmark.classes_of(0, position, 100)
        assert np.array_equal(lesson.labels[order], np.repeat(drawn, 500))
        for block in lesson.images[order].reshape(5, 500):
            assert (np.diff(block) > 0).all(), "within a class, in the order of the file"
        orders.append(np.argsort(drawn).tobytes())
    assert len(set(orders)) > 5, "not sorted by label"


@pytest.mark.parametrize("order", ["fixed", "shuffle"])
def test_other_orders_mix_the_classes_of_the_same_tasks(order, cifar100):
    blocks, other = (
        published(),
        build("benchmark", "mixed", TARGET, choice("benchmark", "cifar51")[1] | {"order": order}),
    )
    ours, lesson = blocks.lesson(cifar100, 2, 4), other.lesson(cifar100, 2, 4)
    assert np.array_equal(np.sort(lesson.images), np.sort(ours.images))
    assert np.array_equal(lesson.held_out, ours.held_out)
    first, second = (lesson.images[other.order_of(lesson.labels, 2, 4, epoch)] for epoch in (0, 1))
    assert np.array_equal(np.sort(first), np.sort(lesson.images))
    assert len(np.unique(cifar100.train_labels[first[:32]])) == 5
    assert np.array_equal(first, second) == (order == "fixed")
    assert (np.diff(first) > 0).all() == (order == "fixed")


def test_held_out_are_the_test_images_of_the_tasks_classes(cifar100):
    for position in range(4):
        lesson = published().lesson(cifar100, 1, position)
        expected = np.flatnonzero(np.isin(cifar100.test_labels, lesson.labels))
        assert np.array_equal(lesson.held_out, expected)
        assert len(expected) == (100 if position % 2 else 500)
        assert np.array_equal(lesson.held_out_labels, cifar100.test_labels[expected])
        assert lesson.held_out_split == "test"
    few = build("benchmark", "few", TARGET, choice("benchmark", "cifar51")[1] | {"eval_images": 60})
    assert np.array_equal(few.lesson(cifar100, 1, 0).held_out, published().lesson(cifar100, 1, 0).held_out[:60])


def test_every_run_holds_out_as_many_images_where_classes_differ_in_size():
    assert len(set(np.bincount(IMAGES.test_labels))) > 1
    fewest = np.bincount(IMAGES.test_labels).min()
    for seed in range(5):
        assert np.bincount(made().lesson(IMAGES, seed, 0).held_out_labels).max() == fewest
        assert len(made().lesson(IMAGES, seed, 0).held_out) == 4 * fewest


def test_a_drawn_subset_is_of_the_class_and_of_the_seed():
    first, drawn, again = (
        {label: [i for i, own in zip(lesson.images, lesson.labels, strict=True) if own == label] for label in range(10)}
        for lesson in (
            made(subset=subset, classes_repeat=True).lesson(IMAGES, 0, position)
            for subset, position in [("first", 0), ("drawn", 0), ("drawn", 2)]
        )
    )
    chosen = [label for label in range(10) if drawn[label]]
    assert all(len(drawn[label]) == 10 for label in chosen)
    assert [label for label in chosen if drawn[label] != first[label]]
    both = [label for label in chosen if again[label]]
    assert both
    assert all(drawn[label] == again[label] for label in both)


def test_a_shared_subset_has_the_same_images_of_a_class_for_all_seeds():
    lessons = [made(subset="shared", classes_repeat=True).lesson(IMAGES, seed, 0) for seed in range(3)]
    by_class = [
        {label: {*lesson.images[lesson.labels == label].tolist()} for label in {*lesson.labels.tolist()}}
        for lesson in lessons
    ]
    common = [(one, other, label) for one in by_class for other in by_class for label in one.keys() & other.keys()]
    assert any(one is not other for one, other, _ in common)
    assert all(one[label] == other[label] for one, other, label in common)
    assert any(max(images) >= 100 for one in by_class for images in one.values()), "not the first of each class"


def test_the_embedded_twin_draws_anew_for_every_pair_of_tasks():
    benchmark, digits = published("digits51"), source_named("digits").load(None)
    pairs = set()
    for position in range(0, benchmark.tasks, 2):
        hard, easy = (benchmark.lesson(digits, 0, at) for at in (position, position + 1))
        assert (len(hard.labels), len(easy.labels)) == (700, 140)
        classes = np.unique(hard.labels), np.unique(easy.labels)
        assert [len(each) for each in classes] == [5, 1]
        assert not np.isin(classes[1], classes[0]).any()
        pairs.add(tuple(classes[0]))
    assert len(pairs) > 10
    assert {benchmark.steps_of(position) for position in range(30)} == {218}
    passes = [each.steps_of(0) / (each.images_of(0) / 32) for each in (benchmark, published())]
    assert passes[0] == pytest.approx(passes[1], rel=0.005)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"tasks": 4}, "made_up has 10 classes; 4 tasks of 4 and 2 in turn, no class twice, need 12. Lower"),
        ({"classes_hard": 9, "tasks": 100, "classes_repeat": True}, "2 tasks of 9 and 2 in turn, no class twice, need"),
        ({"images_per_class": 200}, "benchmark.images_per_class is 200; made_up has a class of"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence_at_the_first_task(settings, sentence):
    with pytest.raises(ConfigError) as raised:
        made(**settings).lesson(IMAGES, 0, 0)
    assert sentence in str(raised.value)
    made(tasks=3).lesson(IMAGES, 0, 0)  # 4 + 2 + 4: exactly all ten


@pytest.mark.parametrize(("hard", "easy", "tasks", "largest"), [(4, 2, 2, 40), (2, 4, 2, 40), (2, 4, 1, 20)])
def test_a_batch_may_be_larger_than_some_tasks_but_not_than_the_largest(hard, easy, tasks, largest):
    settings = {"classes_hard": hard, "classes_easy": easy, "tasks": tasks}
    assert made(**settings, batch_size=largest).max_images == largest
    with pytest.raises(ConfigError, match=rf"benchmark\.batch_size is {largest + 1}.* {largest} training images"):
        made(**settings, batch_size=largest + 1)


def test_a_class_without_test_images_is_refused_by_name():
    tested = IMAGES.test_labels != 7
    lacking = replace(IMAGES, test_images=IMAGES.test_images[tested], test_labels=IMAGES.test_labels[tested])
    with pytest.raises(ConfigError, match="made_up has no test images of class 7;"):
        made().lesson(lacking, 0, 0)


def test_only_hard_tasks_count_save_in_taoa_all(cifar100):
    stream, journal = Stream(published(), cifar100, [0]), Journal(1, CLASSIFIER)
    for task in stream.tasks(Position(0, 0)):
        for chunk in task.chunks(Position(0, 0)):
            measured = np.full((chunk.steps, 1), 0.5 if task.marks["hard"] else 1.0)
            journal.add_chunk(chunk, Rows({"accuracy": measured, "loss": measured}))
        journal.add_task(task, {"final_accuracy": np.array([0.2 if task.marks["hard"] else 0.9])})
    summary = CLASSIFIER.summarise(journal.table(0))
    assert (summary["taoa"], summary["taoa_all"]) == (0.5, 0.75)
    assert summary["gap"] == pytest.approx(-0.3)
    assert (summary["final_accuracy"], summary["final_accuracy_last_task"]) == (pytest.approx(0.2), 0.2)
    assert summary["aoa_slope"] == pytest.approx(0, abs=1e-12)


def pack(*seeds: int) -> list[dict]:
    """Runs of the small stream, whose easy tasks have fewer images than its hard ones."""
    runs = [run(seed, "rand_smooth_leaky", images=1) for seed in seeds]
    for one in runs:
        one.science["benchmark"] = {"name": "small", **typed(AlternatingClasses, "benchmark", "small", SMALL)}
        one.targets["benchmark"] = TARGET
    return runs


def test_the_device_holds_one_shape_for_tasks_of_two_sizes():
    stream, agent = assembled(pack(0, 1), IMAGES, CPU, compiled=False)
    shapes = set()
    for task in stream.tasks(Position(0, 0)):
        agent.begin(task, fresh=True)
        shapes.add((agent.images.shape, agent.offsets.shape))
    assert shapes == {((2, 40, 64), (2,))}
