"""When a value agent explores, learns and copies its target."""

import numpy as np
import pytest

from plasticity_lab.agents.acting.schedule import Exploration, Timetable


def test_epsilon_falls_linearly_after_the_warm_up():
    exploration = Exploration(np.array([1.0, 0.8]), np.array([0.0, 0.2]), warm_up=100, decay=50)
    at = {step: exploration.epsilon(step).round(12).tolist() for step in (0, 100, 110, 125, 150, 10_000)}
    assert at == {
        0: [1.0, 0.8],
        100: [1.0, 0.8],
        110: [0.8, 0.68],
        125: [0.5, 0.5],
        150: [0.0, 0.2],
        10_000: [0.0, 0.2],
    }


def test_without_a_decay_it_falls_at_once():
    exploration = Exploration(np.ones(1), np.full(1, 0.1), warm_up=3, decay=0)
    assert [exploration.epsilon(step)[0] for step in (3, 4)] == [1.0, 0.1]


def test_dopamines_default_is_the_same_function():
    """`linearly_decaying_epsilon`: ε + clip((1 − ε) · steps left / decay, 0, 1 − ε)."""
    exploration = Exploration(np.ones(1), np.full(1, 0.01), warm_up=20_000, decay=250_000)
    for step in range(0, 400_000, 9_973):
        theirs = 0.01 + np.clip(0.99 * (250_000 + 20_000 - step) / 250_000, 0, 0.99)
        assert exploration.epsilon(step)[0] == pytest.approx(theirs, abs=1e-12)


def test_updates_come_every_period_from_the_warm_up_on():
    timetable = Timetable(min_history=10, update_period=4, target_period=7)
    due = [timetable.updates(step, step + 1, held=min(step + 1, 20)) for step in range(24)]
    assert [step + 1 for step, count in enumerate(due) if count] == [12, 16, 20, 24]
    assert max(due) == 1


def test_several_environments_make_up_for_the_updates_between():
    timetable = Timetable(min_history=10, update_period=4, target_period=7)
    assert [timetable.updates(step, step + 6, held=99) for step in range(0, 24, 6)] == [1, 2, 1, 2]
    assert [timetable.copies(step, step + 6) for step in range(0, 24, 6)] == [False, True, True, True]


def test_a_replay_ratio_above_one_makes_several_updates_at_the_same_times():
    one, three = (Timetable(10, 2, target_period=7, gradient_steps=count) for count in (1, 3))
    due = [[each.updates(step, step + 1, held=step + 1) for step in range(24)] for each in (one, three)]
    assert due[1] == [3 * count for count in due[0]]
    assert sum(due[1][12:]) == 18, "a replay ratio of 3 / 2"
    assert three.most_updates(5) == 9
    assert three.updates_of(1, 24, 1, emptied=False) == 36


@pytest.mark.parametrize("environments", [1, 3, 4, 7])
@pytest.mark.parametrize(("min_history", "period"), [(10, 4), (12, 4), (21, 5), (22, 1)])
def test_the_number_of_all_updates_is_that_of_the_steps(environments, min_history, period):
    timetable = Timetable(min_history, period, target_period=9, gradient_steps=environments)
    steps = range(0, 84 * environments, environments)
    due = [timetable.updates(step, step + environments, held=step + environments) for step in steps]
    assert timetable.all_updates(84 * environments, environments) == sum(due) > 0


def test_a_memory_that_was_lost_is_filled_before_anything_is_learned():
    timetable = Timetable(min_history=10, update_period=1, target_period=9)
    assert [timetable.updates(1000, 1001, held) for held in (0, 1, 10, 11)] == [0, 0, 0, 1]
