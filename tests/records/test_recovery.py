"""How soon a body is as well controlled as at the end of its last visit: cases worked out by hand."""

import numpy as np
import pyarrow as pa
import pytest

from plasticity_lab.agents.acting.measures import SUMMARIES, summarise
from plasticity_lab.agents.value.measures import VALUE_MEASURES
from plasticity_lab.records.recovery import recoveries
from plasticity_lab.records.stage_returns import stage_returns


def table(visits, bodies=2, length=100):
    """visits: for each, its episodes as (steps since it began, return)."""
    lines = []
    for task, episodes in enumerate(visits):
        at = {"task": task, "epoch": task, "body": task % bodies, "cycle": task // bodies}
        lines += [
            at | {"kind": "episode", "step": length * task + step, "return": float(value), "length": 10.0}
            for step, value in episodes
        ]
        lines.append(at | {"kind": "task", "step": length * (task + 1)})
    names = VALUE_MEASURES.schema.names
    return pa.Table.from_pylist([{name: line.get(name) for name in names} for line in lines], VALUE_MEASURES.schema)


FIRST = [[(50, 1), (90, 4), (100, 6)], [(95, 2)]]
"""Two bodies, whose returns in the last 15 steps are 5 and 2."""


def test_it_is_reached_with_the_episode_that_brings_the_mean_of_the_last_ones_there():
    """Means of two: 3, 4, 5 for the first body, with the episode that ends 40 steps after the visit began."""
    found = recoveries(table([*FIRST, [(10, 2), (20, 4), (30, 4), (40, 6), (50, 1)], [(10, 9), (20, 1)]]), episodes=2)
    assert [(each.task, each.body, each.cycle, each.level, each.steps, each.length) for each in found] == [
        (2, 0, 1, 5, 40, 100),
        (3, 1, 1, 2, 20, 100),
    ]


def test_a_single_good_episode_is_none_and_neither_are_too_few():
    (found,) = recoveries(table([*FIRST, [(10, 1), (20, 8), (30, 1)]]), episodes=2)
    assert found.steps is None
    (found,) = recoveries(table([*FIRST, [(10, 9)]]), episodes=2)
    assert found.steps is None


def test_episodes_of_another_visit_do_not_count():
    """The second body's visit ended with returns far above what the first needs."""
    visits = [FIRST[0], [(95, 50), (99, 50)], [(10, 1), (20, 9), (30, 1)]]
    assert [each.steps for each in recoveries(table(visits), episodes=2)] == [20]
    assert [each.steps for each in recoveries(table(visits), episodes=3)] == [None]


def test_each_visit_has_to_come_where_the_one_before_it_ended():
    visits = [[(95, 2), (96, 2)], [(95, 6), (96, 6)], [(10, 2), (20, 6), (30, 6)]]
    assert [(each.level, each.steps) for each in recoveries(table(visits, bodies=1), episodes=2)] == [(2, 96), (6, 30)]


@pytest.mark.parametrize("silent", [[], [(95, -np.inf)], [(95, np.nan)]])
def test_where_the_last_visit_has_no_return_the_one_before_it_counts_and_without_any_none(silent):
    visits = [[(95, 3)], silent, [(10, 1), (20, 3), (30, 3)]]
    assert [(each.task, each.level) for each in recoveries(table(visits, bodies=1), episodes=2)][-1] == (2, 3)
    assert recoveries(table([silent, [(10, 1), (20, 1)]], bodies=1), episodes=2) == []
    assert recoveries(table([silent], bodies=1)) == []


def test_a_run_has_their_mean_and_a_visit_in_which_it_never_came_counts_with_its_length():
    again = [(2 * step, 5) for step in range(1, 31)]  # the twentieth after 40 steps
    summary = summarise(table([*FIRST, again, [(2 * step, 1) for step in range(1, 31)]]))
    assert (summary["recovery"], summary["recovered"]) == ((40 + 100) / 2, 0.5)
    assert list(summary) == [measure.name for measure in SUMMARIES]


def test_a_run_in_which_no_body_comes_again_has_none_of_it_and_all_else():
    visits = table([*FIRST])
    summary = summarise(visits)
    assert summary["recovery"] is summary["recovered"] is None
    assert summary["final_return"] == np.mean([stage.train for stage in stage_returns(visits)]) == 3.5
