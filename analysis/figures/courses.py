"""The courses of runs on common points: at most fifty, each the mean of what a run measured around it."""

import polars as pl

from plasticity_lab.records.measures import Column

POINTS = 50
FEW_TASKS = 10
"""Where there are fewer tasks than that, what is measured more often, too, is taken as often."""


def measured(metrics: pl.LazyFrame, column: Column) -> tuple[pl.DataFrame, bool]:
    """A row for each value of a column: run, task, place, body, value; and whether places are the numbers of tasks.

    metrics: as metrics.parquet has it, with `run`. place: the number of the task from 1 where tasks measure the column,
    else the step. body: 0 where there are none. value: in the column's unit, finite. Tasks that do not count (not
    `hard`) are left out.
    """
    there = metrics.collect_schema().names()
    if column.name not in there:
        metrics = metrics.head(0).with_columns(pl.lit(0.0).alias(column.name))
    rows = metrics.filter(pl.col("kind").is_in(column.own_kinds))
    if "hard" in there:
        rows = rows.filter(pl.col("hard").fill_null(True))
    body = pl.col("body").fill_null(0) if "body" in there else pl.lit(0, pl.Int64)
    value = pl.col(column.name).cast(pl.Float64) * column.measure.scale
    found = rows.select("run", "kind", "task", "step", body=body, value=value)
    found = found.filter(pl.col("value").is_finite()).collect()
    kind = _kind(found, column)
    place = pl.col("task") + 1 if kind == "task" else pl.col("step")
    chosen = found.filter(pl.col("kind") == kind)
    return chosen.select("run", "task", "body", "value", place=place.cast(pl.Float64)), kind == "task"


def _kind(found: pl.DataFrame, column: Column) -> str:
    """The coarsest kind of rows of which there are enough for a curve, else that of which there are most."""
    counts = {}
    for kind in column.own_kinds:
        rows = found.filter(pl.col("kind") == kind)["run"].value_counts()["count"].max() or 0
        if rows >= FEW_TASKS:
            return kind
        counts[kind] = rows
    return max(counts, key=counts.__getitem__)


def binned(values: pl.DataFrame, whole: bool, points: int = POINTS) -> pl.DataFrame:
    """The means over bins, the same bins for all runs: run, body, bin, task, place, value, ordered.

    whole: whether places are the numbers of tasks, so that no bin cuts one.
    """
    last = values["place"].max() or 1.0
    wide = -(-last // points) if whole else last / points
    return (
        values.with_columns(bin=((pl.col("place") - (0.5 if whole else 1e-9)) // wide).cast(pl.Int64))
        .group_by("run", "body", "bin")
        .agg(pl.col("task").min(), pl.col("place").mean(), pl.col("value").mean())
        .sort("run", "body", "bin")
    )


def over_runs(bins: pl.DataFrame, line_of: pl.DataFrame, whole: bool) -> pl.DataFrame:
    """The mean over the runs of each line: line, body, place, value, sd (null of one run), n, ordered.

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
