"""How well a run of episodes had learned each task in the end: returns out of its metrics."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

FINAL = 0.15
"""The part of a task whose episodes say how well it was learned in the end.  Source: Section 7."""
Array = NDArray[np.float64]
Table = Any
"""metrics.parquet in memory, a pyarrow.Table: agents name what they measure where pyarrow is not there."""


@dataclass(frozen=True)
class StageReturn:
    """A task, with the body it was of and how often the bodies had come before.

    episodes: how many ended in it. train: the mean return of those that ended in its last part; of the last one, if
    none did; NaN without any. test: the mean return in its test, NaN without one. Neither needs to be finite.
    """

    task: int
    body: int
    cycle: int
    episodes: int
    train: float
    test: float


def stage_returns(table: Table, last: float = FINAL) -> list[StageReturn]:
    """The tasks that have ended, in their order.  last: the part of a task whose episodes count."""
    tasks, episodes = rows_of(table, "task"), rows_of(table, "episode")
    ends, found = tasks["step"], []
    tests = tasks.get("test_return", np.full(len(ends), np.nan))
    for at, (task, end) in enumerate(zip(tasks["task"], ends, strict=True)):
        began = ends[at - 1] if at else 0
        own = episodes["task"] == task
        returns, steps = episodes["return"][own], episodes["step"][own]
        late = returns[steps > end - last * (end - began)]
        train = mean_of(late if len(late) else returns[-1:])
        place = int(task), int(tasks["body"][at]), int(tasks["cycle"][at])
        found.append(StageReturn(*place, len(returns), train, float(tests[at])))
    return found


def rows_of(table: Table, kind: str) -> dict[str, Array]:
    """The rows of a kind by column; NaN for what a row does not have."""
    wanted = table["kind"].to_numpy() == kind
    return {name: table[name].to_numpy()[wanted] for name in table.column_names if name != "kind"}


def mean_of(values: Array | list[float]) -> float:
    """The mean; NaN of nothing, and not finite where a value is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.mean(values)) if len(values) else float("nan")


EPISODES = 10
"""Episodes whose mean return must reach the earlier one."""


@dataclass(frozen=True)
class Recovery:
    """A task of a body that came before.

    steps: of the task, all environments of a run together, until the mean return of its last `EPISODES` episodes was at
    least that of the last part of the visit before; None where it never was.
    """

    task: int
    body: int
    cycle: int
    steps: int | None


def recoveries(table: Table) -> list[Recovery]:
    """The tasks of bodies that came before, in their order.

    What is to be reached is what the last visit with a finite return earned; without one, the task is left out.
    """
    stages, episodes = stage_returns(table), rows_of(table, "episode")
    ends = rows_of(table, "task")["step"]
    before: dict[int, float] = {}
    found = []
    for at, stage in enumerate(stages):
        own = episodes["task"] == stage.task
        if (level := before.get(stage.body)) is not None:
            began = ends[at - 1] if at else 0
            found.append(Recovery(stage.task, stage.body, stage.cycle, _steps(
                episodes["return"][own], episodes["step"][own] - began, level
            )))  # fmt: skip
        if isfinite(stage.train):
            before[stage.body] = stage.train
    return found


def _steps(returns: np.ndarray, steps: np.ndarray, level: float) -> int | None:
    """The step of the first episode at which the mean of the last ones reaches the level."""
    if len(returns) < EPISODES:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # a run that diverged
        means = np.convolve(returns, np.full(EPISODES, 1 / EPISODES), "valid")
    reached = np.flatnonzero(means >= level - 1e-9)
    return int(steps[reached[0] + EPISODES - 1]) if len(reached) else None
