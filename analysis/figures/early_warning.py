"""What moves first: the first task at which each measure leaves what it was over the first tasks, accuracy among them.

A measure of the whole network that is looked at when tasks end; by its mean over seeds.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from analysis.figures.asked import Asked, Metrics
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.groups import Group, caption, headline_groups
from analysis.rows import Row
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Column

if TYPE_CHECKING:
    import polars as pl

FIRST, DEVIATIONS = 10, 3.0
"""Tasks by which a measure's usual range is known, and how many of their standard deviations it must be away."""
Left = Mapping[str, int | None]
"""Column → the first task at which it has left its range, the first task being 1; None where it never does."""


def early_warning(asked: Asked) -> Drawing:
    """The figure: a panel for each set of runs that share all but activation and seed, a row for each measure.

    Raises ConfigError where no finished run has more tasks than those that make the range.
    """
    row_of = {row.run: row for row in asked.rows}
    found = headline_groups(asked)
    panels: list[Panel] = []
    never: list[str] = []
    for group in found:
        columns = _columns(group, row_of)
        lines = {head.label: (head.name, cell.done, left_at(asked.metrics, cell.done, columns))
                 for head, cell in group.cells if cell.done}  # fmt: skip
        if any(at is not None for _, _, left in lines.values() for at in left.values()):
            panels.append(_panel(group.title, columns, lines))
            never += _never(columns, lines)
    if not panels:
        raise ConfigError(
            f"No measure of a finished run leaves the range of its first {FIRST} tasks, or no run has more tasks."
        )
    said = (
        f"The first task at whose end a measure's mean over seeds is more than {DEVIATIONS:g} standard deviations from "
        f"its mean over the first {FIRST} tasks; the deviations are those of these {FIRST} means."
    )
    return Drawing("early_warning", "What moves first", panels, [*caption(found, asked.rows, said), *never])


def left_at(metrics: Metrics, runs: Sequence[str], columns: Sequence[Column]) -> Left:
    """When each column has left its range, of runs that are alike but for the seed."""
    import polars as pl  # half a second, which those who ask for another figure need not wait for

    read = metrics(runs)
    there = [column.name for column in columns if column.name in read.collect_schema()]
    means = read.filter(pl.col("kind") == "task").group_by("task").agg(pl.col(there).mean()).sort("task").collect()
    return {name: _left(means[name]) for name in there}


def _left(means: "pl.Series") -> int | None:
    values = [float("nan") if value is None else float(value) for value in means]
    first = values[:FIRST]
    if len(values) <= FIRST or not all(isfinite(value) for value in first):
        return None
    usual, room = fmean(first), DEVIATIONS * stdev(first)
    return next((at for at, value in enumerate(values, 1) if at > FIRST and abs(value - usual) > room), None)


def _columns(group: Group, row_of: Mapping[str, Row]) -> list[Column]:
    """Of tasks: what agents measure, and what diagnostics do of the whole network.

    A column that begins with the name of another is of one place, or says how well that one is known.
    """
    runs = [run for _, cell in group.cells for run in cell.done]
    named = {column.name: column for run in runs for column in row_of[run].declared.columns_of("task")}
    whole = [name for name in named if not any(name.startswith(f"{other}_") for other in named)]
    return [named[name] for name in whole]


def _panel(title: str, columns: Sequence[Column], lines: Mapping[str, tuple[str, Sequence[str], Left]]) -> Panel:
    """The measure that moves first at the top."""
    first = {
        column.measure.title: min(found)
        for column in columns
        if (found := [at for _, _, left in lines.values() if (at := left.get(column.name)) is not None])
    }
    order = sorted(first, key=lambda name: first[name])
    title_of = {column.name: column.measure.title for column in columns}
    series = []
    for label, (key, runs, left) in lines.items():
        points = [(at, title_of[name]) for name, at in left.items() if at is not None]
        x, y = [at for at, _ in points], [name for _, name in points]
        series.append(Series(label, key, x, y, [len(runs)] * len(points), runs=list(runs), joined=False, marker="own"))
    return Panel(title, "first task outside the usual range", "", series, categories=order, x_whole=True)


def _never(columns: Sequence[Column], lines: Mapping[str, tuple[str, Sequence[str], Left]]) -> list[str]:
    """Of each line, the measures that stay within their range."""
    title_of = {column.name: column.measure.title for column in columns}
    stays = {
        label: [title_of[name] for name, at in left.items() if at is None] for label, (_, _, left) in lines.items()
    }
    return [f"Never outside, {label}: {', '.join(names)}." for label, names in stays.items() if names]
