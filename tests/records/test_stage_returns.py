"""Returns over the last part of each task, from made rows."""

import math

import numpy as np
import pyarrow as pa

from plasticity_lab.agents.ppo.agent import PPO_MEASURES
from plasticity_lab.records.stage_returns import StageReturn, stage_returns


def table(*rows):
    """rows: (kind, task, step, return, of an episode or of the test), in cycles of two tasks."""
    columns = {name: [] for name in PPO_MEASURES.schema.names}
    for kind, task, step, value in rows:
        own = {"kind": kind, "task": task, "epoch": task, "step": step, "body": task % 2, "cycle": task // 2}
        own |= {"return" if kind == "episode" else "test_return": value}
        for name, column in columns.items():
            column.append(own.get(name))
    return pa.table(columns, schema=PPO_MEASURES.schema)


def test_only_episodes_that_end_in_the_last_part_of_a_stage_count():
    rows = table(
        ("episode", 0, 85, -9.0), ("episode", 0, 86, 2.0), ("episode", 0, 100, 4.0), ("task", 0, 100, 1.0),
        ("episode", 1, 150, 7.0), ("task", 1, 200, -math.inf),
        ("episode", 2, 290, math.nan), ("episode", 2, 295, 5.0), ("task", 2, 300, None),
    )  # fmt: skip
    first, second, third = stage_returns(rows)
    assert first == StageReturn(task=0, body=0, cycle=0, episodes=3, train=3.0, test=1.0)
    assert (second.train, second.test) == (7.0, -math.inf), "none in its last part: the last one"
    assert (third.body, third.cycle, third.episodes) == (0, 1, 2)
    assert math.isnan(third.train), "an episode of it broke"
    assert math.isnan(third.test), "there was no test"
    assert stage_returns(rows, last=1.0)[0].train == -1.0


def test_a_stage_without_episodes_and_one_that_overflows_say_so():
    silent, huge = stage_returns(
        table(("task", 0, 100, 2.0), ("episode", 1, 199, -1e308), ("episode", 1, 200, -1e308), ("task", 1, 200, 0.0))
    )
    assert (silent.episodes, math.isnan(silent.train), silent.test) == (0, True, 2.0)
    assert huge.train == -np.inf
