"""The courses of runs on common points: at most fifty, each the mean of a run's measurements around it.

A store may hold a hundred million rows of metrics: nothing is in memory before it is averaged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.figures.drawing import Metrics
from analysis.figures.style import POINTS
from analysis.rows import Row
from plasticity_lab.records.measures import Column

FEW_TASKS = 10
"""With fewer tasks, a column that is measured more often is drawn as often."""


@dataclass(frozen=True)
class Extent:
    """The rows of one kind: how many the longest run has, and the last task (from 0) and step."""

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

    place: the mean of those in a bin; for episodes its middle. body: 0 if there are none. value: in the column's unit,
    finite. Tasks that do not count (not `hard`) are left out. known: the extents of the metrics.
    """
    names = metrics.collect_schema().names()
    if column.name not in names or not known.keys() & {*column.own_kinds}:
        return _nothing(), False
    kind = _kind(column, known)
    whole = kind == "task"
    last = known[kind].task + 1 if whole else known[kind].step
    wide = -(-last // points) if whole else max(last, 1) / points
    rows = metrics.filter(pl.col("kind") == kind)
    if "hard" in names:
        rows = rows.filter(pl.col("hard").fill_null(True))
    place = (pl.col("task") + 1 if whole else pl.col("step")).cast(pl.Float64)
    means = (
        rows.select(
            "run",
            "task",
            place=place,
            body=pl.col("body").fill_null(0) if "body" in names else pl.lit(0, pl.Int64),
            value=pl.col(column.name).cast(pl.Float64) * column.measure.scale,
        )
        .filter(pl.col("value").is_finite())
        .with_columns(bin=((pl.col("place") - (0.5 if whole else 1e-9)) // wide).cast(pl.Int64))
        .group_by("run", "body", "bin")
        .agg(pl.col("task").min(), pl.col("place").mean(), pl.col("value").mean())
        .sort("run", "body", "bin")
    )
    if kind == "episode":  # they can end at any step; the middle of a bin is the same for all runs
        means = means.with_columns(place=(pl.col("bin") + 0.5) * wide)
    return means.collect(engine="streaming"), whole


@dataclass(frozen=True)
class Course:
    """The mean course of some runs with one body. line: their place among the lines. sd: None for a single run."""

    line: int
    body: int
    x: list[float]
    y: list[float]
    sd: list[float | None]
    n: list[int]
    runs: Sequence[str]


def courses_of(metrics: Metrics, column: Column, lines: Sequence[Sequence[str]]) -> tuple[list[Course], bool]:
    """The courses of each line's runs, body by body; and whether x are tasks.  lines: ids of the runs of each."""
    read = metrics([run for runs in lines for run in runs])
    bins, whole = binned(read, column, extents(read))
    having = set(bins["run"].to_list())
    line_of = [(run, line) for line, runs in enumerate(lines) for run in runs]
    frame = pl.DataFrame(line_of, schema={"run": pl.String, "line": pl.Int64}, orient="row")
    means = over_runs(bins, frame, whole)
    found = []
    for _, points in means.group_by("body", "line", maintain_order=True):
        body, line = int(points["body"][0]), int(points["line"][0])
        x, y, sd, n = (points[name].to_list() for name in ("place", "value", "sd", "n"))
        found.append(Course(line, body, x, y, sd, n, [run for run in lines[line] if run in having]))
    return found, whole


def over_runs(bins: pl.DataFrame, line_of: pl.DataFrame, whole: bool) -> pl.DataFrame:
    """The mean over the runs of each line: line, body, bin, task, place, value, sd (null for one run), n, ordered.

    line_of: run, line. If a line has nothing of the tasks between two points, because another body was trained, a point
    of nan between them breaks it.
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


def body_name(row: Row, body: int) -> str:
    """The name of a body of a run, by its number."""
    names = row.study.get("benchmark.bodies")
    if isinstance(names, Sequence) and not isinstance(names, str) and body < len(names):
        return str(names[body])
    return f"body {body}"


def _kind(column: Column, known: Mapping[str, Extent]) -> str:
    """The coarsest kind of rows with enough for a curve, else the kind with most of them."""
    kinds = [kind for kind in column.own_kinds if kind in known]
    most = max(kinds, key=lambda kind: known[kind].rows)
    return next((kind for kind in kinds if known[kind].rows >= FEW_TASKS), most)


def _nothing() -> pl.DataFrame:
    numbers = {"body": pl.Int64, "bin": pl.Int64, "task": pl.Int64, "place": pl.Float64, "value": pl.Float64}
    return pl.DataFrame(schema={"run": pl.String, **numbers})
