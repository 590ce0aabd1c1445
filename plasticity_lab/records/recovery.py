"""How soon a run of episodes is again as good at a body, or a game, as when it left it."""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from plasticity_lab.records.stage_returns import Table, rows_of, stage_returns

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
