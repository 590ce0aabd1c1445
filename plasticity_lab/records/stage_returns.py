"""Returns of a run in stages: how well it learned each task in the end, and how soon it recovered on a later visit."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

FINAL = 0.15
"""The last part of a task; its episodes measure how well the task was learned in the end.  Source: Section 7."""
EPISODES = 10
"""The number of episodes in the mean return that must reach the earlier mean return."""
Array = NDArray[np.float64]
Table = Any
"""metrics.parquet in memory, a pyarrow.Table: agents declare their measures also without pyarrow."""


@dataclass(frozen=True)
class StageReturn:
    """A task, with its environment (`body`) and the number of earlier visits to that environment (`cycle`).

    episodes: the number of episodes that ended in it. train: the mean return of the episodes that ended in its last
    part; without such episodes, the return of the last episode; NaN without any. test: the mean return in its test, NaN
    without a test. Both may be infinite.
    """

    task: int
    body: int
    cycle: int
    episodes: int
    train: float
    test: float


@dataclass(frozen=True)
class Recovery:
    """A later visit to an environment.

    steps: steps of the task, over all parallel environments of a run, until the mean return of the last `EPISODES`
    episodes reached the level of the previous visit (`StageReturn.train`); None if it never did.
    """

    task: int
    body: int
    cycle: int
    steps: int | None


def stage_returns(table: Table, last: float = FINAL) -> list[StageReturn]:
    """The tasks that have ended, in their order.  last: the last part of a task that counts, as a fraction."""
    tasks, episodes = rows_of(table, "task"), rows_of(table, "episode")
    ends, stages = tasks["step"], []
    tests = tasks.get("test_return", np.full(len(ends), np.nan))
    for at, (task, end) in enumerate(zip(tasks["task"], ends, strict=True)):
        start = ends[at - 1] if at else 0
        in_task = episodes["task"] == task
        returns, steps = episodes["return"][in_task], episodes["step"][in_task]
        late = returns[steps > end - last * (end - start)]
        train = mean_of(late if len(late) else returns[-1:])
        body, cycle = int(tasks["body"][at]), int(tasks["cycle"][at])
        stages.append(StageReturn(int(task), body, cycle, len(returns), train, float(tests[at])))
    return stages


def recoveries(table: Table) -> list[Recovery]:
    """The later visits to environments, in their order.

    The level to reach is the return of the last visit with a finite one; without one, the task is left out.
    """
    stages, episodes = stage_returns(table), rows_of(table, "episode")
    ends = rows_of(table, "task")["step"]
    levels: dict[int, float] = {}
    visits = []
    for at, stage in enumerate(stages):
        if (level := levels.get(stage.body)) is not None:
            start = ends[at - 1] if at else 0
            in_task = episodes["task"] == stage.task
            steps = _steps_until(level, episodes["return"][in_task], episodes["step"][in_task] - start)
            visits.append(Recovery(stage.task, stage.body, stage.cycle, steps))
        if isfinite(stage.train):
            levels[stage.body] = stage.train
    return visits


def _steps_until(level: float, returns: Array, steps: Array) -> int | None:
    """The step of the first episode when the mean return of the last episodes reaches the level."""
    if len(returns) < EPISODES:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # a run that diverged
        means = np.convolve(returns, np.full(EPISODES, 1 / EPISODES), "valid")
    reached = np.flatnonzero(means >= level - 1e-9)
    return int(steps[reached[0] + EPISODES - 1]) if len(reached) else None


def rows_of(table: Table, kind: str) -> dict[str, Array]:
    """The rows of a kind by column; NaN for missing values."""
    wanted = table["kind"].to_numpy() == kind
    return {name: table[name].to_numpy()[wanted] for name in table.column_names if name != "kind"}


def mean_of(values: Array | list[float]) -> float:
    """The mean; NaN without values, and not finite if a value is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.mean(values)) if len(values) else float("nan")
