"""Returns by stage of the runs of a table, out of their metrics."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from analysis.rows import Row
from plasticity_lab.records.stage_returns import StageReturn, stage_returns

if TYPE_CHECKING:
    import polars as pl

Metrics = Callable[[Collection[str]], "pl.LazyFrame"]
"""Ids of runs → the rows of their metrics.parquet, with `run`."""
Stages = Mapping[str, Sequence[StageReturn]]
"""Run → its tasks."""


def stages_of(metrics: Metrics, runs: Collection[str]) -> Stages:
    """The stages of each of these runs whose metrics are at hand."""
    import polars as pl  # half a second, which tables of summaries need not wait for

    rows = metrics(runs).filter(pl.col("kind").is_in(["task", "episode"])).collect()
    return {run: stage_returns(own.to_arrow()) for (run,), own in rows.group_by("run", maintain_order=True)}


def with_stages(rows: Sequence[Row], metrics: Metrics | None) -> list[Row]:
    """The rows, the finished ones with their stages where those are at hand: in the row already, or in the metrics."""
    wanted = {row.run for row in rows if row.status == "done" and row.stages is None}
    if not wanted or metrics is None:
        return list(rows)
    found = stages_of(metrics, wanted)
    return [replace(row, stages=found[row.run]) if row.run in found and row.stages is None else row for row in rows]


def are_known(row: Row) -> bool:
    """Whether a run has finished, and what it returned is at hand."""
    return row.status == "done" and row.stages is not None


def without_episode(row: Row) -> list[StageReturn]:
    """The tasks of a finished run in which no episode ended: it returned nothing in them."""
    return [stage for stage in row.stages or () if row.status == "done" and not stage.episodes]


def cycle_returns(row: Row, bodies: Sequence[str]) -> np.ndarray | None:
    """What a finished run returned in each cycle in training and in tests: (C cycles, 2, M bodies).

    None where it has not finished, or has no task with one of the bodies, or its stages are not at hand. NaN: no
    episode ended in the task, or no test was made.
    """
    stages = row.stages or ()
    if row.status != "done" or not stages:
        return None
    order = row.study.get("benchmark.bodies") or []
    found = {(stage.cycle, order[stage.body]): stage for stage in stages}
    cycles = range(min(stage.cycle for stage in stages), max(stage.cycle for stage in stages) + 1)
    wanted = [[found.get((cycle, body)) for body in bodies] for cycle in cycles]
    if any(stage is None for of_cycle in wanted for stage in of_cycle):
        return None
    return np.array([[[stage.train for stage in each], [stage.test for stage in each]] for each in wanted])
