"""How soon a body that comes again is controlled as well as when it was last left: steps, out of a run's metrics."""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from plasticity_lab.records.stage_returns import FINAL, Table, rows_of, stage_returns

EPISODES = 20
"""As many must reach it on average: a single good episode is none."""


@dataclass(frozen=True)
class Recovery:
    """A visit of a body that has come before.

    level: the final return of its last visit. steps: of the run, from the beginning of this visit until that level is
    reached again; None if it never is. length: the steps of this visit.
    """

    task: int
    body: int
    cycle: int
    level: float
    steps: int | None
    length: int

    @property
    def at_least(self) -> int:
        """The steps; those of the whole visit, more than which it would have taken, where the level is not reached."""
        return self.length if self.steps is None else self.steps


def recoveries(table: Table, last: float = FINAL, episodes: int = EPISODES) -> list[Recovery]:
    """All visits of bodies that have come before, in their order.

    The level is reached with the first episode at which the mean return of the last `episodes` episodes of this visit
    is not below the mean return of the last part of the body's last visit (`StageReturn.train`; last: how large a
    part). A visit without a finite return there is passed over: the one before it counts. Returns vary, so that a mean
    of few of them reaches a level before the policy is as good on average: the steps are to be compared between runs,
    not with zero.
    """
    ends, rows, found = rows_of(table, "task")["step"], rows_of(table, "episode"), []
    levels: dict[int, float] = {}
    for at, stage in enumerate(stage_returns(table, last)):
        began = ends[at - 1] if at else 0
        if stage.body in levels:
            own = rows["task"] == stage.task
            steps = _reached(rows["return"][own], rows["step"][own] - began, levels[stage.body], episodes)
            place = stage.task, stage.body, stage.cycle
            found.append(Recovery(*place, levels[stage.body], steps, int(ends[at] - began)))
        if isfinite(stage.train):
            levels[stage.body] = stage.train
    return found


def _reached(returns: np.ndarray, steps: np.ndarray, level: float, episodes: int) -> int | None:
    """The step of the first episode at which the mean of the last ones is not below the level."""
    if len(returns) < episodes:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.lib.stride_tricks.sliding_window_view(returns, episodes).mean(axis=1)
    there = np.flatnonzero(means >= level)
    return int(steps[there[0] + episodes - 1]) if len(there) else None
