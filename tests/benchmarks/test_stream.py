import numpy as np
import pytest

from plasticity_lab.benchmarks.labelled import stream as module
from plasticity_lab.benchmarks.labelled.stream import Stream
from plasticity_lab.component import build
from plasticity_lab.records.rows import Position
from tests.helpers.packs import BENCHMARKS, images

IMAGES = images(8, 300, 20)
SEEDS = [4, 2, 9]


@pytest.fixture(params=[500, 7, 5, 1])
def chunk_steps(request, monkeypatch) -> int:
    monkeypatch.setattr(module, "CHUNK_STEPS", request.param)
    return request.param


def a_stream(seeds=SEEDS, **settings) -> Stream:
    plain = {"source": "made_up", "images": 205, "tasks": 3, "epochs": 2, "steps": None, "batch_size": 16}
    return Stream(build("benchmark", "labels", BENCHMARKS["labels"], plain | settings), IMAGES, seeds)


def walked(stream: Stream, after: Position) -> list:
    """Every chunk still to come."""
    return [chunk for task in stream.tasks(after) for chunk in task.chunks(after)]


def steps_of(chunks) -> list[tuple]:
    """(task, epoch, step, epoch's end?, count, batch) of every step of the chunks."""
    return [
        (
            chunk.task,
            chunk.epoch,
            chunk.first + s,
            chunk.ends_epoch and s == chunk.steps - 1,
            int(chunk.counts[s]),
            chunk.images[:, s].tobytes(),
        )
        for chunk in chunks
        for s in range(chunk.steps)
    ]


@pytest.mark.parametrize("settings", [{}, {"order": "shuffle"}, {"steps": 20}, {"epochs": None, "steps": 31}])
def test_chunks_cover_every_step_once_in_order(settings, chunk_steps):
    stream = a_stream(**settings)
    chunks, benchmark = walked(stream, Position(0, 0)), stream.benchmark
    taken, batches = benchmark.steps_of(0), 13
    assert [step for _, _, step, *_ in steps_of(chunks)] == list(range(3 * taken))
    for task, epoch, step, ends, count, _ in steps_of(chunks):
        within = step - task * taken
        assert task == step // taken
        assert epoch == task * benchmark.epochs_of(0) + within // batches
        assert ends == (within % batches == batches - 1 or within == taken - 1)
        assert count == (13 if within % batches == batches - 1 else 16)
    for chunk in chunks:
        assert 1 <= chunk.steps <= chunk_steps
        assert chunk.images.shape == (3, chunk.steps, 16)
        assert chunk.counts.shape == (chunk.steps,)
        assert chunk.marks == {"hard": True}


@pytest.mark.parametrize("order", ["fixed", "shuffle", "class_blocks"])
def test_an_epoch_shows_every_image_once_in_the_runs_own_order(order):
    stream = a_stream(order=order)
    for task in stream.tasks(Position(0, 0)):
        for epoch, chunk in enumerate(task.chunks(Position(0, 0))):
            for k, seed in enumerate(SEEDS):
                shown = np.concatenate([
                    batch[:count] for batch, count in zip(chunk.images[k], chunk.counts, strict=True)
                ])  # fmt: skip
                expected = stream.benchmark.order_of(task.lessons[k].labels, seed, task.position, epoch)
                assert np.array_equal(shown, expected)


@pytest.mark.parametrize("settings", [{}, {"order": "shuffle", "steps": 20}])
def test_from_every_position_exactly_the_rest_is_still_to_come(settings, chunk_steps):
    stream = a_stream(**settings)
    taken = stream.benchmark.steps_of(0)
    whole = steps_of(walked(stream, Position(0, 0)))
    for done in range(0, 3 * taken):
        after = Position(done // taken, done % taken)
        assert steps_of(walked(stream, after)) == whole[done:]


def test_before_a_tasks_evaluation_nothing_but_the_evaluation_is_left():
    """A run stopped between a task's last step and its evaluation finds that task again, without a chunk."""
    for settings in ({}, {"steps": 20}):
        stream = a_stream(**settings)
        after = Position(1, stream.benchmark.steps_of(1))
        tasks = list(stream.tasks(after))
        assert [task.position for task in tasks] == [1, 2]
        assert list(tasks[0].chunks(after)) == []
        assert len(list(tasks[1].chunks(after))) > 0
    assert list(stream.tasks(Position(3, 0))) == []


def test_chunk_borders_do_not_depend_on_where_a_run_was_resumed(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_STEPS", 5)
    stream = a_stream()
    borders = {chunk.first for chunk in walked(stream, Position(0, 0))}
    resumed = {chunk.first for chunk in walked(stream, Position(0, 8))}
    assert resumed - {8} < borders


def test_a_runs_batches_do_not_depend_on_its_mates():
    for order in ("fixed", "shuffle", "class_blocks"):
        packed, alone = (walked(a_stream(seeds, order=order), Position(0, 0)) for seeds in (SEEDS, [2]))
        for pack, own in zip(packed, alone, strict=True):
            assert np.array_equal(pack.images[1:2], own.images)
