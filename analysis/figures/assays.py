"""Aged and fresh networks in assays: their last losses over the tasks of a run, a panel for each assay and line."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from analysis.figures.drawing import Asked, Drawing, Panel, Series
from analysis.figures.groups import caption, groups
from analysis.rows import Row
from analysis.tables.declared.means import HEADLINE
from plasticity_lab.errors import ConfigError

MOST = 12
"""The maximal number of panels."""
OF_AGED, OF_FRESH = "_aged_loss", "_fresh_loss"
WHAT = (
    "The loss on all examples of an assay's problem after its last step, for copies of the run's network at the end of "
    "a task (aged) and for fresh networks with the same data, order and steps. Mean over seeds; the band is ± 1 SD "
    "over them."
)


def assays(asked: Asked) -> Drawing:
    """A panel for each assay and each line of the runs.  Raises ConfigError if no run has the results of an assay."""
    having = [row for row in asked.rows if assays_of(row)]
    if not having:
        raise ConfigError(
            "No run has results of an assay; `python -m launch assay assay=fresh_labels` tries one on finished runs "
            "that kept weights of tasks."
        )
    found = groups(HEADLINE, having)
    lines = [
        (f"{head.label} · {group.title}" if len(found) > 1 else head.label, done)
        for group in found
        for head, done in group.done.items()
        if done
    ]
    metrics = asked.metrics([row.run for _, done in lines for row in done]).collect()
    by_run = {str(run): frame.to_dicts() for (run,), frame in metrics.group_by("run", maintain_order=True)}
    panels = []
    for title, done in lines:
        for name in dict.fromkeys(name for row in done for name in assays_of(row)):
            kept = [row.run for row in done if row.run in by_run]
            series = [_series(f"{name}{of}", word, [by_run[run] for run in kept], kept)
                      for of, word in ((OF_AGED, "aged"), (OF_FRESH, "fresh"))]  # fmt: skip
            if all(each.x for each in series):
                panels.append(Panel(f"{name}: {title}", "task", "loss", series, x_whole=True, band=True, labels=True))
    if not panels:
        raise ConfigError("No run has its results of assays here: metrics.parquet lies in none of the stores named.")
    left_out = [f"The first {MOST} of {len(panels)} panels are shown."] if len(panels) > MOST else []
    what, *others = caption(found, asked.rows, WHAT)
    return Drawing("assays", "Aged and fresh networks", panels[:MOST], [what, *left_out, *others])


def assays_of(row: Row) -> list[str]:
    """The names of the assays with results in a record."""
    names = [column.name for column in row.declared.columns]
    return [
        name.removesuffix(OF_AGED)
        for name in names
        if name.endswith(OF_AGED) and f"{name.removesuffix(OF_AGED)}{OF_FRESH}" in names
    ]


def _series(column: str, word: str, of_runs: Sequence[Sequence[dict[str, Any]]], runs: Sequence[str]) -> Series:
    """One line: the mean over runs for each task, counted from 1, that has values."""
    at: dict[int, list[float]] = {}
    for rows in of_runs:
        for row in rows:
            value = row.get(column)
            if row["kind"] == "task" and value is not None and value == value:
                at.setdefault(row["task"] + 1, []).append(value)
    tasks = sorted(at)
    spread = [stdev(at[task]) if len(at[task]) > 1 else 0.0 for task in tasks]
    means, counts = [fmean(at[task]) for task in tasks], [len(at[task]) for task in tasks]
    return Series(word, word, tasks, means, counts, y_sd=spread, runs=list(runs))
