"""The accuracy of runs on every task after every task: the matrix that defines ACC, BWT and forgetting."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from analysis.figures.drawing import Asked, Drawing, Panel, Series
from analysis.figures.groups import caption, groups
from analysis.rows import Row
from analysis.tables.declared.means import HEADLINE
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.task_matrix import READ_OFF, matrix_of

MOST = 12
"""The maximal number of lines that get a panel."""
COLUMN = "accuracy_on"
WHAT = (
    "Each field is the accuracy (%) on the held-out images of one task after another was learned, the mean over seeds: "
    "on the diagonal the task just learned, left of it earlier tasks, right of it tasks "
    "that have not been trained yet."
)


def matrix(asked: Asked) -> Drawing:
    """A panel for each activation, a row for each learned task.  Raises ConfigError without such runs."""
    rows = [row for row in asked.rows if any(column.name == COLUMN for column in row.declared.columns)]
    if not rows:
        raise ConfigError(
            "No run was evaluated on every task after every task; benchmark.eval_matrix=true does that "
            "(with rerun=true for runs that are already finished)."
        )
    found = groups(HEADLINE, rows)
    whole = []
    for group in found:
        for head, done in group.done.items():
            if done:
                whole.append((f"{head.label} · {group.title}" if len(found) > 1 else head.label, head.name, done))
    if not whole:
        raise ConfigError("No run with a matrix of tasks has finished.")
    metrics = asked.metrics([row.run for _, _, done in whole[:MOST] for row in done]).collect()
    by_run = metrics.group_by("run", maintain_order=True)
    after = {str(run): matrix_of(frame.to_arrow()).after for (run,), frame in by_run}
    panels, said = [], []
    for name, key, done in whole[:MOST]:
        if kept := [row for row in done if row.run in after]:
            panels.append(_panel(name, key, after, [row.run for row in kept]))
            said.append(f"{name}: {', '.join(_read_off(kept))}.")
    if not panels:
        raise ConfigError("No run has its matrix of tasks here: metrics.parquet lies in none of the stores named.")
    what, *others = caption(found, rows, WHAT)
    if len(whole) > MOST:
        said.append(f"The first {MOST} of {len(whole)} are shown; --where activation=NAME chooses others.")
    return Drawing("matrix", "Accuracy on every task after every task", panels, [what, *said, *others])


def _panel(title: str, key: str, after: Mapping[str, NDArray[np.float64]], runs: Sequence[str]) -> Panel:
    """The mean over runs, in percent.  after: run → (T, T), the accuracy on each task (column) after each (row)."""
    accuracies_TT = np.mean([after[run] for run in runs], axis=0)
    tasks = [str(task + 1) for task in range(len(accuracies_TT))]
    n, series = [len(runs)] * len(tasks), []
    for task, accuracies in zip(tasks, accuracies_TT, strict=True):
        y = (100 * accuracies).tolist()
        series.append(Series(f"after {task}", key, tasks, y, n, runs=runs, joined=False, listed=False))
    return Panel(title, "task", "accuracy (%)", series, x_categories=tasks, heat="from 0")


def _read_off(rows: Sequence[Row]) -> list[str]:
    """The numbers computed from the runs' matrices, mean ± SD over seeds; or why they are not defined."""
    words = []
    declared = rows[0].declared.summaries
    for name, usual in READ_OFF.items():
        measure = declared.get(name, usual)
        values = [value * measure.scale for row in rows if (value := row.summary.get(name)) is not None]
        if measure.undefined:
            words.append(f"{measure.label} not defined ({measure.undefined})")
        elif values:
            spread = f" ± {measure.number(stdev(values))}" if len(values) > 1 else ""
            words.append(f"{measure.label} {measure.number(fmean(values))}{spread}")
    return words
