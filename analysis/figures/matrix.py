"""How accurate runs are on every task after every task: the matrix that ACC, BWT and forgetting are read off."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analysis.figures.asked import Asked
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.groups import Group, caption, groups
from analysis.rows import Row
from analysis.tables.declared.headline import HEADLINE
from analysis.tables.result import Cell, Heading
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.task_matrix import READ_OFF, matrix_of

if TYPE_CHECKING:
    import polars as pl

MOST = 12
"""Of how many lines of a store there is room for a panel."""
COLUMN = "accuracy_on"
WHAT = (
    "Each field is the accuracy (%) on the held-out images of one task once another was learned, the mean over seeds: "
    "the diagonal is what was learned last, left of it stands what is still known of earlier tasks, right of it tasks "
    "that have not come yet."
)
Array = NDArray[np.float64]


def matrix(asked: Asked) -> Drawing:
    """A panel for each activation, a row for each task that was learned.  Raises ConfigError without such runs."""
    if asked.metric is not None:
        raise ConfigError(f"The figure matrix shows {COLUMN} alone; leave out --metric.")
    rows = [row for row in asked.rows if any(column.name == COLUMN for column in row.declared.columns)]
    if not rows:
        raise ConfigError(
            "No run was evaluated on every task after every task; benchmark.eval_matrix=true does that "
            "(rerun=true where the runs are there without)."
        )
    found = groups(HEADLINE, rows)
    several = [(group, head, cell) for group in found for head, cell in group.cells]
    whole = [each for each in several if each[2].done]
    if not whole:
        raise ConfigError("No run with a matrix of tasks has finished.")
    metrics = asked.metrics([run for _, _, cell in whole[:MOST] for run in cell.done])
    panels = [_panel(group, head, cell, metrics, titled=len(found) > 1) for group, head, cell in whole[:MOST]]
    said = [WHAT, *_read_off(rows, whole[:MOST], titled=len(found) > 1)]
    if len(whole) > MOST:
        said.append(f"The first {MOST} of {len(whole)} are shown; --where activation=NAME chooses others.")
    return Drawing("matrix", "Accuracy on every task after every task", panels, [*said, *caption(found, rows, "")[1:]])


def _panel(group: Group, head: Heading, cell: Cell, metrics: "pl.LazyFrame", titled: bool) -> Panel:
    after = np.mean([_after(metrics, run) for run in cell.done], axis=0)
    tasks = [str(task + 1) for task in range(len(after))]
    series = [
        Series(
            label=f"after {task}",
            key=head.name,
            x=tasks,
            y=(100 * accuracies).tolist(),
            n=[len(cell.done)] * len(tasks),
            runs=cell.done,
            joined=False,
            listed=False,
        )
        for task, accuracies in zip(tasks, after, strict=True)
    ]
    return Panel(_name(group, head, titled), "task", "accuracy (%)", series, x_categories=tasks, heat="from 0")


def _after(metrics: "pl.LazyFrame", run: str) -> Array:
    import polars as pl  # half a second, which those who ask for another figure need not wait for

    return matrix_of(metrics.filter(pl.col("run") == run).collect().to_arrow()).after


def _name(group: Group, head: Heading, titled: bool) -> str:
    return f"{head.label} · {group.title}" if titled else head.label


def _read_off(rows: Sequence[Row], drawn: Sequence[tuple[Group, Heading, Cell]], titled: bool) -> list[str]:
    """What is read off each matrix, mean ± SD over seeds; what is not defined, with the reason."""
    row_of = {row.run: row for row in rows}
    lines = []
    for group, head, cell in drawn:
        words = []
        declared = row_of[cell.done[0]].declared.summaries
        for name, measure in {name: declared.get(name, measure) for name, measure in READ_OFF.items()}.items():
            values = [value for run in cell.done if (value := row_of[run].summary.get(name)) is not None]
            if measure.undefined:
                words.append(f"{measure.label} not defined ({measure.undefined})")
            elif values:
                spread = f" ± {measure.number(100 * stdev(values))}" if len(values) > 1 else ""
                words.append(f"{measure.label} {measure.number(100 * fmean(values))}{spread}")
        lines.append(f"{_name(group, head, titled)}: {', '.join(words)}.")
    return lines
