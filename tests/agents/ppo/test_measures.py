"""A run in a few numbers, from its rows."""

import numpy as np
import pyarrow as pa
import pytest

from plasticity_lab.agents.acting.measures import flags, summarise
from plasticity_lab.agents.ppo.agent import PPO_MEASURES


def table(rows):
    """rows: (kind, task, step, return or unstable), in cycles of two tasks."""
    columns = {name: [] for name in PPO_MEASURES.schema.names}
    for kind, task, step, value in rows:
        own = {"kind": kind, "task": task, "epoch": task, "step": step, "body": task % 2, "cycle": task // 2}
        own |= (
            {"unstable": value} if kind == "epoch" else {"return": value, "length": 10.0} if kind == "episode" else {}
        )
        for name, column in columns.items():
            column.append(own.get(name))
    return pa.table(columns, schema=PPO_MEASURES.schema)


ROWS = [
    ("episode", 0, 50, 1.0), ("episode", 0, 90, 3.0), ("episode", 0, 100, 5.0), ("task", 0, 100, None),
    ("episode", 1, 150, 7.0), ("task", 1, 200, None),  # none in its last part: the last one counts
    ("episode", 2, 284, 9.0), ("episode", 2, 286, 11.0), ("task", 2, 300, None),
    ("task", 3, 400, None),  # none at all
]  # fmt: skip


def test_the_final_return_is_that_of_the_last_part_of_each_task():
    found = summarise(table(ROWS))
    assert found["final_return"] == pytest.approx((4 + 7 + 11) / 3)
    assert found["final_return_first_cycle"] == pytest.approx(5.5)
    assert (found["final_return_last_cycle"], found["last_return"]) == (11, 11)
    assert (found["mean_return"], found["mean_length"], found["episodes"]) == (6, 10, 6)
    assert found.keys() == {measure.name for measure in PPO_MEASURES.summaries}


def test_a_run_without_episodes_or_with_infinite_returns_has_a_summary():
    assert summarise(table([("task", 0, 100, None)]))["final_return"] is None
    found = summarise(table([("episode", 0, 95, -np.inf), ("task", 0, 100, None)]))
    assert (found["final_return"], found["mean_return"], found["episodes"]) == (None, None, 1)


def test_a_run_is_flagged_where_it_was_once_unstable():
    ended = ("episode", 0, 30, 1.0)
    assert flags(table([ended, ("epoch", 0, 50, 0.0), ("epoch", 0, 100, 1.0)]), {}) == {"unstable": True}
    assert flags(table([ended, ("epoch", 0, 50, 0.0)]), {}) == {"unstable": False}


def test_a_run_in_which_no_episode_ended_is_flagged_and_one_with_some_says_in_how_many_tasks():
    silent = table([("epoch", 0, 50, 0.0), ("task", 0, 100, None)])
    assert flags(silent, {}) == {"unstable": False, "no_episode": True}
    assert [summarise(silent)[name] for name in ("episodes", "tasks", "tasks_with_episodes")] == [0, 1, 0]
    assert [summarise(table(ROWS))[name] for name in ("tasks", "tasks_with_episodes")] == [4, 3]
