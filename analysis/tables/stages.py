"""Returns by stage of the runs of a table, out of their metrics."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

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
