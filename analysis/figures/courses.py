"""The courses of runs on common points: at most fifty, each the mean of what a run measured around it.

A store may hold a hundred million rows of metrics: nothing is in memory before it is averaged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.figures.style import POINTS
from plasticity_lab.records.measures import Column

FEW_TASKS = 10
"""Where there are fewer tasks than that, what is measured more often, too, is taken as often."""


@dataclass(frozen=True)
class Extent:
    """Of the rows of one kind: how many the longest run has, and the last task (from 0) and step."""

    rows: int
    task: int
    step: int


def extents(metrics: pl.LazyFrame) -> dict[str, Extent]:
    """Kind of rows → its extent.  metrics: as metrics.parquet has it, with `run`."""
    by_run = metrics.group_by("run", "kind").agg(rows=pl.len(), task=pl.col("task").max(), step=pl.col("step").max())
    found = by_run.group_by("kind").agg(pl.col("rows", "task", "step").max()).collect()
    return {kind: Extent(rows, task, step) for kind, rows, task, step in found.iter_rows()}


def binned(
    metrics: pl.LazyFrame, column: Column, known: Mapping[str, Extent], points: int = POINTS
) -> tuple[pl.DataFrame, bool]:
    """The means over bins, the same bins for all runs: run, body, bin, task, place, value, in this order; and whether
    places are the numbers of tasks from 1, which no bin cuts, else steps.

    place: the mean of those in a bin, of episodes its middle. body: 0 where there are none. value: in the column's
    unit, finite. Tasks that do not count (not `hard`) are left out. known: the extents of the metrics.
    """
    there = metrics.collect_schema().names()
    if column.name not in there or not known.keys() & {*column.own_kinds}:
        return _nothing(), False
    kind = _kind(column, known)
    whole = kind == "task"
    last = known[kind].task + 1 if whole else known[kind].step
    wide = -(-last // points) if whole else max(last, 1) / points
    rows = metrics.filter(pl.col("kind") == kind)
    if "hard" in there:
        rows = rows.filter(pl.col("hard").fill_null(True))
    place = (pl.col("task") + 1 if whole else pl.col("step")).cast(pl.Float64)
    means = (
        rows.select(
            "run",
            "task",
            place=place,
            body=pl.col("body").fill_null(0) if "body" in there else pl.lit(0, pl.Int64),
            value=pl.col(column.name).cast(pl.Float64) * column.measure.scale,
        )
        .filter(pl.col("value").is_finite())
        .with_columns(bin=((pl.col("place") - (0.5 if whole else 1e-9)) // wide).cast(pl.Int64))
        .group_by("run", "body", "bin")
        .agg(pl.col("task").min(), pl.col("place").mean(), pl.col("value").mean())
        .sort("run", "body", "bin")
    )
    if kind == "episode":  # they end where they please; the middle of a bin is the same for all runs
        means = means.with_columns(place=(pl.col("bin") + 0.5) * wide)
    return means.collect(engine="streaming"), whole


def lines_of(runs: Sequence[Sequence[str]]) -> pl.DataFrame:
    """Which line each run belongs to, by their places: run, line, as `over_runs` takes it."""
    return pl.DataFrame(
        [(run, line) for line, own in enumerate(runs) for run in own],
        schema={"run": pl.String, "line": pl.Int64},
        orient="row",
    )


def over_runs(bins: pl.DataFrame, line_of: pl.DataFrame, whole: bool) -> pl.DataFrame:
    """The mean over the runs of each line: line, body, bin, task, place, value, sd (null of one run), n, ordered.

    line_of: run, line. Where a line has nothing of the tasks between two points, being of another body, a point of nan
    stands between them, which breaks it.
    """
    means = (
        bins.join(line_of, on="run")
        .group_by("line", "body", "bin")
        .agg(
            pl.col("task").min(),
            pl.col("place").mean(),
            pl.col("value").mean(),
            sd=pl.col("value").std(),
            n=pl.len(),
        )
        .sort("line", "body", "bin")
    )
    if whole:
        return means
    before = means.with_columns(
        task_before=pl.col("task").shift().over("line", "body"),
        place_before=pl.col("place").shift().over("line", "body"),
    )
    gaps = before.filter(pl.col("task") - pl.col("task_before") > 1).with_columns(
        place=(pl.col("place") + pl.col("place_before")) / 2,
        value=pl.lit(float("nan")),
        sd=pl.lit(None, pl.Float64),
        n=pl.lit(0, pl.UInt32),
    )
    return pl.concat([means, gaps.select(means.columns)]).sort("line", "body", "place")


def _kind(column: Column, known: Mapping[str, Extent]) -> str:
    """The coarsest kind of rows of which there are enough for a curve, else that of which there are most."""
    kinds = [kind for kind in column.own_kinds if kind in known]
    return next(
        (kind for kind in kinds if known[kind].rows >= FEW_TASKS), max(kinds, key=lambda kind: known[kind].rows)
    )


def _nothing() -> pl.DataFrame:
    numbers = {"body": pl.Int64, "bin": pl.Int64, "task": pl.Int64, "place": pl.Float64, "value": pl.Float64}
    return pl.DataFrame(schema={"run": pl.String, **numbers})
