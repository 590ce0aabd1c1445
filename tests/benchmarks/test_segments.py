"""Tasks of bodies cut into epochs and segments."""

import pytest

from plasticity_lab.benchmarks.bodies.benchmark import BodyCycle
from plasticity_lab.benchmarks.bodies.stream import SegmentedTasks
from plasticity_lab.records.rows import Position

BEGINNING = Position(0, 0)


def cut(environments=1, steps=100, epoch=40, most=30, tasks=2):
    benchmark = BodyCycle(bodies=["cartpole"], tasks=tasks, environment_steps=steps)
    return SegmentedTasks(benchmark, environments, epoch, most)


def chunks(segmented, after=BEGINNING):
    return [chunk for task in segmented.tasks(after) for chunk in task.chunks(after)]


def test_a_segment_ends_where_its_epoch_does_and_an_epoch_where_its_task_does():
    found = [(each.task, each.epoch, each.first, each.steps, each.ends_epoch) for each in chunks(cut())]
    assert found == [
        (0, 0, 0, 30, False),
        (0, 0, 30, 10, True),
        (0, 1, 40, 30, False),
        (0, 1, 70, 10, True),
        (0, 2, 80, 20, True),
        (1, 3, 100, 30, False),
        (1, 3, 130, 10, True),
        (1, 4, 140, 30, False),
        (1, 4, 170, 10, True),
        (1, 5, 180, 20, True),
    ]


def test_all_lengths_are_whole_steps_of_all_environments():
    segmented = cut(environments=7)
    assert (segmented.task_steps, segmented.epoch_steps, segmented.most) == (105, 42, 35)
    assert (segmented.total_steps, segmented.epochs) == (210, 6)
    assert all(each.steps % 7 == 0 for each in chunks(segmented))
    assert sum(each.steps for each in chunks(segmented)) == 210


@pytest.mark.parametrize("after", [(0, 30), (0, 40), (0, 100), (1, 0), (1, 180)])
def test_a_resumed_run_goes_on_with_the_segments_that_were_to_come(after):
    whole, after = chunks(cut()), Position(*after)
    begun = after.task * 100 + after.step
    assert chunks(cut(), after) == [each for each in whole if each.first >= begun]


def test_epochs_are_counted_through_the_run():
    segmented = cut(steps=30, epoch=100, most=100)
    assert [(each.epoch, each.steps, each.ends_epoch) for each in chunks(segmented)] == [(0, 30, True), (1, 30, True)]
    assert segmented.epochs == 2
