"""Learning curves: the metrics of each activation during training, as the mean over seeds with their spread as a band.

For classifiers: accuracy by task. For agents in environments: returns over steps, one panel per body.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from analysis.figures.drawing import Asked, Drawing, Panel, Series, with_unit
from analysis.figures.groups import Group, caption, headline_groups
from analysis.figures.style import MOST, POINTS
from analysis.outcomes import Why, in_words
from analysis.rows import Row
from analysis.tables.result import Cell, Heading
from analysis.tables.table import Metrics
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Column


def curves(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError if no finished run has a curve."""
    panels: list[Panel] = []
    drawn: list[Group] = []
    for group in headline_groups(asked):
        column = _column(group.runs[0], asked.metric) if group.runs else None
        if column is not None:
            of_group, group = _panels(group, column, asked.metrics)
            panels += of_group
        drawn.append(group)
    if not panels:
        raise ConfigError(_nothing(asked, drawn))
    said = f"Mean over seeds; the band is ± 1 SD over them. At most {POINTS} points a curve, each the mean around it."
    most = max(len(group.cells) for group in drawn)
    left_out = [f"Of {most} lines in a panel the {MOST} best are shown."] if most > MOST else []
    return Drawing("curves", "Learning curves", panels, [*caption(drawn, asked.rows, said), *left_out])


def _nothing(asked: Asked, found: Sequence[Group]) -> str:
    from analysis.frames import FIRST  # Polars

    names = sorted({column.name for row in asked.rows for column in row.declared.curves})
    if asked.metric is not None and asked.metric not in names:
        return f"No finished run has a curve of '{asked.metric}'; there are curves of {', '.join(names)}."
    cells = [cell for group in found for _, cell in group.cells]
    done = [run for cell in cells for run in cell.done]
    if done and len(asked.metrics(done).collect_schema()) == len(FIRST):  # no file was found
        return (
            f"No run has a curve here: metrics.parquet of {len(done)} finished runs lies in none of the stores named."
        )
    counts = {why: sum(getattr(cell, why) for cell in cells) for why in get_args(Why)}
    of = f" of '{asked.metric}'" if asked.metric else ""
    return f"No run has a curve{of}: {in_words(counts, len({row.run for row in asked.rows}))}."


def _column(row: Row, metric: str | None) -> Column | None:
    return next((column for column in row.declared.curves if metric in (None, column.name)), None)


def _panels(group: Group, column: Column, metrics: Metrics) -> tuple[list[Panel], Group]:
    """One panel per trained body (one panel without bodies), and the group with the runs that the panels show."""
    from analysis.figures.courses import body_name, courses_of  # Polars: half a second

    best = sorted(group.cells, key=lambda of: -(of[1].mean or 0.0))[:MOST]  # each gets a line
    courses, whole = courses_of(metrics, column, [cell.done for _, cell in best])
    by_body: dict[int, list[Series]] = {}
    for course in courses:
        head, _ = best[course.line]
        series = Series(head.label, head.name, course.x, course.y, course.n, y_sd=course.sd, runs=course.runs)
        by_body.setdefault(course.body, []).append(series)
    panels = []
    x_label, y_label = "task" if whole else "steps of the run", with_unit(column.measure.title, column.measure)
    for body, lines in by_body.items():
        names = [group.title, group.column.label]
        title, place = (f"{of} · {body_name(group.runs[0], body)}" if len(by_body) > 1 else of for of in names)
        panels.append(Panel(title, x_label, y_label, lines, x_whole=True, band=True, labels=True, place=place))
    return panels, _counted(group, column, dict(best), {run for course in courses for run in course.runs})


def _counted(group: Group, column: Column, drawn: dict[Heading, Cell], having: set[str]) -> Group:
    """The group with counts of the runs on the curve, and the reasons why other finished runs are not on it."""
    cells = []
    for head, cell in group.cells:
        if head in drawn:
            runs = [run for run in cell.done if run in having]
            silent = len(cell.done) - len(runs)
            of_episodes = column.own_kinds == ["episode"]
            lost = {"no_episode": silent * of_episodes, "no_value": silent * (not of_episodes)}
            cell = replace(cell, n=len(runs), runs=runs, some_tasks=(), **lost)
        cells.append((head, cell))
    return replace(group, cells=cells)
