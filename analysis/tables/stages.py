"""The returns by stage of a table's runs, read from their metrics."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from analysis.rows import Row
from plasticity_lab.records.stage_returns import StageReturn, stage_returns

if TYPE_CHECKING:
    import polars as pl

Metrics = Callable[[Collection[str]], "pl.LazyFrame"]
"""Ids of runs → the rows of their metrics.parquet, with the column `run`."""


def with_stages(rows: Sequence[Row], metrics: Metrics | None) -> list[Row]:
    """The rows, the finished runs with their stages, if the row already has them or the metrics have them."""
    wanted = {row.run for row in rows if row.status == "done" and row.stages is None}
    if not wanted or metrics is None:
        return list(rows)
    stages = _stages_of(metrics, wanted)
    return [replace(row, stages=stages[row.run]) if row.run in stages and row.stages is None else row for row in rows]


def _stages_of(metrics: Metrics, runs: Collection[str]) -> Mapping[str, Sequence[StageReturn]]:
    import polars as pl  # takes half a second; tables of summaries do not need it

    lines = metrics(runs).filter(pl.col("kind").is_in(["task", "episode"])).collect()
    return {run: stage_returns(of_run.to_arrow()) for (run,), of_run in lines.group_by("run", maintain_order=True)}


def without_episode(row: Row) -> list[StageReturn]:
    """The tasks of a finished run without an ended episode; the run has no return in these tasks."""
    return [stage for stage in row.stages or () if row.status == "done" and not stage.episodes]


def cycle_returns(row: Row, bodies: Sequence[str]) -> np.ndarray | None:
    """The returns of a finished run in each cycle, in training and in tests: (C cycles, 2, M bodies).

    None for a run that has not finished, has no stages, or lacks a task with one of the bodies. NaN: no episode ended
    in the task, or the run was not tested after it.
    """
    stages = row.stages or ()
    if row.status != "done" or not stages:
        return None
    order = row.study.get("benchmark.bodies") or []
    stage_at = {(stage.cycle, order[stage.body]): stage for stage in stages}
    cycles = range(min(stage.cycle for stage in stages), max(stage.cycle for stage in stages) + 1)
    if any((cycle, body) not in stage_at for cycle in cycles for body in bodies):
        return None
    grid = [[stage_at[cycle, body] for body in bodies] for cycle in cycles]
    return np.array([[[stage.train for stage in of_cycle], [stage.test for stage in of_cycle]] for of_cycle in grid])
