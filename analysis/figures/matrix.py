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
from analysis.tables.result import Heading
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
    after = _matrices(asked.metrics([run for _, _, cell in whole[:MOST] for run in cell.done]))
    drawn = [
        (group, head, kept) for group, head, cell in whole[:MOST] if (kept := [r for r in cell.done if r in after])
    ]
    if not drawn:
        raise ConfigError("No run has its matrix of tasks here: metrics.parquet lies in none of the stores named.")
    titled = len(found) > 1
    panels = [
        _panel(_name(group, head, titled), head, [after[run] for run in runs], runs) for group, head, runs in drawn
    ]
    what, *others = caption(found, rows, WHAT)
    said = [what, *_read_off(rows, drawn, titled)]
    if len(whole) > MOST:
        said.append(f"The first {MOST} of {len(whole)} are shown; --where activation=NAME chooses others.")
    return Drawing("matrix", "Accuracy on every task after every task", panels, [*said, *others])


def _matrices(metrics: "pl.LazyFrame") -> dict[str, Array]:
    """Run → its matrix, (T, T): the accuracy on each task (column) once each was learned (row)."""
    return {
        str(run): matrix_of(frame.to_arrow()).after
        for (run,), frame in metrics.collect().group_by("run", maintain_order=True)
    }


def _panel(title: str, head: Heading, matrices: Sequence[Array], runs: Sequence[str]) -> Panel:
    """The mean over runs, in percent."""
    tasks = [str(task + 1) for task in range(len(matrices[0]))]
    series = [
        Series(
            label=f"after {task}",
            key=head.name,
            x=tasks,
            y=(100 * accuracies).tolist(),
            n=[len(runs)] * len(tasks),
            runs=runs,
            joined=False,
            listed=False,
        )
        for task, accuracies in zip(tasks, np.mean(matrices, axis=0), strict=True)
    ]
    return Panel(title, "task", "accuracy (%)", series, x_categories=tasks, heat="from 0")


def _name(group: Group, head: Heading, titled: bool) -> str:
    return f"{head.label} · {group.title}" if titled else head.label


def _read_off(rows: Sequence[Row], drawn: Sequence[tuple[Group, Heading, Sequence[str]]], titled: bool) -> list[str]:
    """What is read off each matrix, mean ± SD over seeds; what is not defined, with the reason."""
    row_of = {row.run: row for row in rows}
    lines = []
    for group, head, runs in drawn:
        words = []
        declared = row_of[runs[0]].declared.summaries
        for name, measure in {name: declared.get(name, measure) for name, measure in READ_OFF.items()}.items():
            values = [value * measure.scale for run in runs if (value := row_of[run].summary.get(name)) is not None]
            if measure.undefined:
                words.append(f"{measure.label} not defined ({measure.undefined})")
            elif values:
                spread = f" ± {measure.number(stdev(values))}" if len(values) > 1 else ""
                words.append(f"{measure.label} {measure.number(fmean(values))}{spread}")
        lines.append(f"{_name(group, head, titled)}: {', '.join(words)}.")
    return lines
