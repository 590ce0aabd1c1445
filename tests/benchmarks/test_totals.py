"""What a run adds up to: sums over its tasks, which take no longer for a billion tasks than for one."""

import pytest

from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.benchmarks.labelled.stream import Stream, Task
from plasticity_lab.component import build
from plasticity_lab.records.rows import Position
from tests.helpers.packs import BENCHMARKS, CPU, images, run

IMAGES = images(4, 300, 120)
PLAIN = {"source": "made_up", "images": 205}
TWO_SIZES = {"source": "made_up", "classes_hard": 4, "classes_easy": 2, "images_per_class": 10, "classes_repeat": True}
KINDS = {
    "pixels": (BENCHMARKS["pixels"], PLAIN),
    "labels": (BENCHMARKS["labels"], PLAIN),
    "5+1": ("plasticity_lab.benchmarks.labelled.alternating_classes.AlternatingClasses", TWO_SIZES),
    "1+5": (
        "plasticity_lab.benchmarks.labelled.alternating_classes.AlternatingClasses",
        TWO_SIZES | {"classes_hard": 2, "classes_easy": 4},
    ),
}
LENGTHS = [{"epochs": 2, "steps": None}, {"epochs": None, "steps": 7}, {"epochs": 3, "steps": 5}]


def made(kind: str, tasks: int, **length) -> LabelledBenchmark:
    target, settings = KINDS[kind]
    return build("benchmark", kind, target, settings | {"tasks": tasks, "batch_size": 16} | length)


@pytest.fixture
def few_tasks(monkeypatch):
    """Fails at once where tasks are looked at one by one."""
    asked, really = [], LabelledBenchmark.images_of

    def images_of(self, position):
        asked.append(position)
        assert len(asked) < 1000, "every task is asked for its images"
        return really(self, position)

    monkeypatch.setattr(LabelledBenchmark, "images_of", images_of)


@pytest.mark.parametrize("length", LENGTHS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_totals_are_the_sums_over_all_tasks(kind, length):
    for tasks in range(1, 8):
        benchmark = made(kind, tasks, **length)
        assert benchmark.total_steps == sum(benchmark.steps_of(position) for position in range(tasks))
        assert benchmark.total_epochs == sum(benchmark.epochs_of(position) for position in range(tasks))
        assert benchmark.max_images == max(benchmark.images_of(position) for position in range(tasks))
        assert benchmark.max_batches == max(benchmark.batches_of(position) for position in range(tasks))
        for position in range(tasks):
            steps, epochs = benchmark.steps_before(position), benchmark.epochs_before(position)
            assert steps == sum(benchmark.steps_of(earlier) for earlier in range(position))
            assert epochs == sum(benchmark.epochs_of(earlier) for earlier in range(position))


def test_every_task_has_as_many_images_as_it_says():
    for kind in KINDS:
        for task in Stream(made(kind, 5, epochs=1, steps=None), IMAGES, [0]).tasks(Position(0, 0)):
            assert len(task.lessons[0].images) == task.benchmark.images_of(task.position)


@pytest.mark.parametrize("kind", KINDS)
def test_a_billion_tasks_are_counted_at_once(kind, few_tasks):
    benchmark, billion = made(kind, 10**9, epochs=1, steps=None), 10**9
    steps, epochs = sum(benchmark.steps_of(position) for position in (0, 1)), 2
    assert (benchmark.total_steps, benchmark.total_epochs) == (steps * billion // 2, epochs * billion // 2)
    assert benchmark.max_images == (205 if kind in BENCHMARKS else 40)
    last = Task(billion - 2, {}, [benchmark.lesson(IMAGES, 0, billion - 2)], benchmark, [0])
    chunk = next(last.chunks(Position(0, 0)))
    assert (chunk.first, chunk.epoch) == (steps * (billion // 2 - 1), billion - 2)


def test_an_agent_begins_a_billion_tasks_at_once(few_tasks):
    stream, agent = assembled([run(images=20, tasks=10**9)], IMAGES, CPU, compiled=False)
    agent.begin(next(stream.tasks(Position(10**8, 0))), fresh=True)
    assert agent.images.shape == (1, 20, 16)
