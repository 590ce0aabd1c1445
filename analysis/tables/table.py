"""A table: its declaration, the functions that make it, the selection of its runs, and their returns by stage."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np

from analysis.conf import has
from analysis.names import NAMES
from analysis.outcomes import ended, why_none
from analysis.rows import Row
from analysis.tables.listing import Listing
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.stage_returns import StageReturn, stage_returns

if TYPE_CHECKING:
    import polars as pl

Metrics = Callable[[Collection[str]], "pl.LazyFrame"]
"""Ids of runs → the rows of their metrics.parquet, with the column `run`."""
Found = TypeVar("Found")
"""The content of a kind of table, before it is rendered."""
Measured = Callable[["Table[Any]", Sequence[Row], str | None], tuple[list[Row], list[Row]]]
"""A table, rows and the requested metric → the rows of the table, and the left-out rows.

Rows are left out if their agents do not measure the value.  Raises ConfigError, with the existing values, if no run's
summary has the value.
"""


def everything(table: "Table[Any]", rows: Sequence[Row], metric_name: str | None) -> tuple[list[Row], list[Row]]:
    """All rows, for a table that shows no value of the records' summaries."""
    return list(rows), []


@dataclass(frozen=True)
class Table(Generic[Found]):
    """A table.  Three functions make it, each with the table as its first argument.

    build: rows and the requested metric → the contents, one for each selection of runs; without runs, a content that
    needs no runs, such as the paper's numbers.
    render: a content → headings, cells, and the lines of a CSV.
    caption: a content → sentences.

    The other fields select the runs and the values; each kind of table reads the fields that it needs.
    """

    name: str
    """The name in the command and of the files."""
    title: str
    build: "Callable[[Table[Found], Sequence[Row], str | None], Sequence[Found]]"
    render: "Callable[[Table[Found], Found], Listing]"
    caption: "Callable[[Table[Found], Found], Sequence[str]]"
    measured: Measured = everything
    """The function that selects the table's rows for a command."""
    runs: Literal["needed", "shown", "unused"] = "needed"
    """Whether a store is needed, is read if it exists, or is never read."""
    rows: str = "activation"
    """The field of `analysis.rows.Row` that names the table's rows."""
    columns: str = "benchmark"
    """The field that names the table's columns."""
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Field of `Row` → the names in the table, in its order; a field that is missing here may have any name."""
    cell: str | None = None
    """A cell shows the mean ± SD of this summary value; None: the main metric of the runs' agent."""
    also: Sequence[str] = ()
    """Further summary values; each has a separate table after the first."""
    beside: Sequence[str] = ()
    """Values that are shown next to the cells or after them, such as the cost of an accuracy."""
    reported: Sequence[str | Path] = ()
    """CSV files with the paper's values: names in analysis/reported, or paths."""
    source: str = ""
    """The paper's name of these values."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The names of columns in the files → our names."""
    experiment: str | None = None
    """The preset of conf/experiment/ that trains its runs; "{benchmark}" in its name is replaced by each benchmark."""
    against: Literal["next", "all"] = "next"
    """The best of a column is compared with the next best, or with all others."""
    level: float = 0.05
    """The level of that test."""
    reference: str | None = None
    """The column that the cells of a row are compared with, such as "fresh_each_task"."""
    returns: Literal["return", "score", "gap"] | None = None
    """The kind of value computed from the returns by task; None: the table shows no returns by task."""
    bodies: Sequence[str] = ()
    """The bodies of a table of returns, in the table's order."""
    shows: Sequence[str] = ()
    """The activations that a table of scores shows; empty: all. All of the runs' activations decide the bounds."""

    def listings(
        self, rows: Sequence[Row], metric_name: str | None = None, metrics: Metrics | None = None
    ) -> list[Listing]:
        """The rendered table, one listing for each selection of runs.

        metrics: reads the runs' metrics, for a table of returns by task.
        """
        contents = self.build(self, self.ready(rows, metrics), metric_name)
        return [self.listing(content) for content in contents]

    def listing(self, content: Found) -> Listing:
        """One content as words with its caption."""
        return replace(self.render(self, content), caption=self.caption(self, content))

    def about(self, rows: Sequence[Row]) -> list[Row]:
        """The rows with the names in `only`."""
        for name, allowed in self.only.items():
            rows = [row for row in rows if getattr(row, name) in allowed]
        return list(rows)

    def ready(self, rows: Sequence[Row], metrics: Metrics | None) -> list[Row]:
        """The rows with all data of the table, so that they suffice to make it again without the metrics."""
        if self.returns is None:
            return list(rows)
        about = self.about(rows)
        complete = dict(zip(map(id, about), with_stages(about, metrics), strict=True))
        return [complete.get(id(row), row) for row in rows]

    def lacks(self) -> list[str]:
        """The choices that all its runs need and that this version lacks, such as "benchmark=split_cifar100"."""
        return [
            f"{group}={','.join(names)}"
            for group, names in self.only.items()
            if group in NAMES and names and not any(has(group, name) for name in names)
        ]

    def needs_runs(self) -> bool:
        """Whether a store is needed. It is not for a table of conf/ or a table that no run of this version can fill."""
        return self.runs == "needed" and not self.lacks()


def measured(table: Table[Any], rows: Sequence[Row], metric_name: str | None) -> tuple[list[Row], list[Row]]:
    """The rows of agents that measure the table's value, and the left-out rows.

    A table of main metrics keeps all rows, and so does a table with a value that no agent measures.
    Raises ConfigError, with the existing values, if no run's summary has the value.
    """
    rows, shown = table.about(rows), metric_name or table.cell
    _check(rows, shown)
    # The measures of a waiting run's agent may not be known yet. A table that names its benchmarks keeps such a run.
    kept = ("waiting",) if "benchmark" in table.only else ()
    return _without(rows, [row for row in rows if shown not in row.declared.summaries and row.status not in kept])


def compared(table: Table[Any], rows: Sequence[Row], metric_name: str | None) -> tuple[list[Row], list[Row]]:
    """The rows of agents that measure the value for comparing settings, and the left-out rows.

    If some agents measure it and no run has a value, the caption reports this for each search.  Raises ConfigError if
    no agent measures it.
    """
    _check(rows, metric_name, needs_value=False)
    return _without(rows, [row for row in rows if metric_name not in row.declared.summaries])


def _check(rows: Sequence[Row], shown: str | None, needs_value: bool = True) -> None:
    """Raises ConfigError if runs have ended and none of them has a shown value.

    needs_value: otherwise it is enough if an agent measures one.
    """
    names = {name for row in rows for name, value in row.summary.items() if isinstance(value, int | float)}
    wanted = {shown} if shown else {row.declared.headline for row in rows}
    about = [row for row in rows if wanted & row.declared.summaries.keys()]
    if names & wanted or all(row.status == "waiting" for row in rows) or (about and not needs_value):
        return
    title = "' or '".join(sorted(wanted))
    undefined = {
        row.declared.summaries[name].undefined for row in about for name in wanted & row.declared.summaries.keys()
    }
    if about and all(undefined):
        raise ConfigError(f"'{title}' is not defined for these runs: {'; '.join(sorted(undefined))}.")
    if not about and names:
        raise ConfigError(f"No run's summary has '{title}'; there are {', '.join(sorted(names))}.")
    raise ConfigError(f"No run has a value of '{title}': {why_none(ended(about or rows), sorted(wanted)[0])}.")


def _without(rows: Sequence[Row], lacking: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows of runs that have the value, and the lacking rows. If every row lacks the value, all rows are kept."""
    if len(lacking) == len(rows):
        return list(rows), []
    left_out = {row.run for row in lacking}
    return [row for row in rows if row.run not in left_out], list(lacking)


def with_stages(rows: Sequence[Row], metrics: Metrics | None) -> list[Row]:
    """The rows, the finished runs with their stages, if the row already has them or the metrics have them."""
    wanted = {row.run for row in rows if row.status == "done" and row.stages is None}
    if not wanted or metrics is None:
        return list(rows)
    import polars as pl  # takes half a second; tables of summaries do not need it

    lines = metrics(wanted).filter(pl.col("kind").is_in(["task", "episode"])).collect()
    stages = {run: stage_returns(table.to_arrow()) for (run,), table in lines.group_by("run", maintain_order=True)}
    return [replace(row, stages=stages[row.run]) if row.run in stages and row.stages is None else row for row in rows]


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
