"""The curves of runs at common points: at most fifty, each the mean of a run's measurements around it.

A store can hold a hundred million rows of metrics, so rows are averaged before they are loaded into memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.figures.style import POINTS
from analysis.rows import Row
from analysis.tables.table import Metrics
from plasticity_lab.records.measures import Column

FEW_TASKS = 10
"""With fewer tasks than this, a column that is measured more often than once a task is drawn at that rate."""


@dataclass(frozen=True)
class Extent:
    """The rows of one kind: their number in the longest run, and the last task (from 0) and step."""

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
    """The means over bins, and whether places are task numbers (from 1); otherwise they are steps.

    Columns, in this order: run, body, bin, task, place, value. All runs have the same bins; no bin splits a task if
    places are tasks. place: the mean place in a bin; for episodes the middle of the bin. body: 0 if the metrics have no
    bodies. value: finite, in the column's unit. Tasks that do not count (not `hard`) are left out. known: the metrics'
    extents.
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
    """The mean curve of some runs with one body.  line: the index of their line. sd: None for a single run."""

    line: int
    body: int
    x: list[float]
    y: list[float]
    sd: list[float | None]
    n: list[int]
    runs: Sequence[str]


def courses_of(metrics: Metrics, column: Column, lines: Sequence[Sequence[str]]) -> tuple[list[Course], bool]:
    """The curves of each line's runs, one per body; and whether x are tasks.  lines: the run ids of each line."""
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

    line_of: run, line. If another body was trained in the tasks between two points, a nan point between them breaks the
    line.
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
    """The coarsest kind with enough rows for a curve; otherwise the kind with the most rows."""
    kinds = [kind for kind in column.own_kinds if kind in known]
    most = max(kinds, key=lambda kind: known[kind].rows)
    return next((kind for kind in kinds if known[kind].rows >= FEW_TASKS), most)


def _nothing() -> pl.DataFrame:
    numbers = {"body": pl.Int64, "bin": pl.Int64, "task": pl.Int64, "place": pl.Float64, "value": pl.Float64}
    return pl.DataFrame(schema={"run": pl.String, **numbers})
