"""Learning curves: what each activation measured along its runs, the mean over seeds with their spread as a band.

Of classifiers accuracy by task; of agents that act, returns over steps, a panel for each body.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import get_args

from analysis.figures.asked import Asked, Metrics
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.groups import Group, caption, headline_groups
from analysis.figures.style import MOST, POINTS
from analysis.outcomes import Why, in_words
from analysis.rows import Row
from analysis.tables.result import Cell, Heading
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Column


def curves(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError where no run that finished has a curve."""
    row_of = {row.run: row for row in asked.rows}
    found = headline_groups(asked)
    panels: list[Panel] = []
    drawn: list[Group] = []
    for group in found:
        run = next((run for _, cell in group.cells for run in cell.done), None)
        column = None if run is None else _column(row_of[run], asked.metric)
        if run is not None and column is not None:
            of_group, having = _panels(group, column, asked.metrics, _bodies(row_of[run]))
            panels += of_group
            group = _having(group, column, having)
        drawn.append(group)
    found = drawn
    if not panels:
        raise ConfigError(_nothing(asked, found))
    said = f"Mean over seeds; the band is ± 1 SD over them. At most {POINTS} points a curve, each the mean around it."
    most = max(len(group.cells) for group in found)
    left_out = [f"Of {most} lines in a panel the {MOST} best are shown."] if most > MOST else []
    return Drawing("curves", "Learning curves", panels, [*caption(found, asked.rows, said), *left_out])


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


def _having(group: Group, column: Column, having: Collection[str]) -> Group:
    """The group with counts of the runs that have a point of the curve; of the others that are done, why not."""
    drawn = {head for head, _ in _best(group)}
    cells = []
    for head, cell in group.cells:
        if head not in drawn:
            cells.append((head, cell))
            continue
        runs = [run for run in cell.done if run in having]
        silent = len(cell.done) - len(runs)
        of_episodes = column.own_kinds == ["episode"]
        lost = {"no_episode": silent * of_episodes, "no_value": silent * (not of_episodes)}
        cells.append((head, replace(cell, n=len(runs), runs=runs, some_tasks=(), **lost)))
    return replace(group, cells=cells)


def _best(group: Group) -> list[tuple[Heading, Cell]]:
    """The cells of which there is room for a line."""
    return sorted(group.cells, key=lambda of: -(of[1].mean or 0.0))[:MOST]


def _column(row: Row, metric: str | None) -> Column | None:
    columns = row.declared.curves
    return next((column for column in columns if metric in (None, column.name)), None)


def _bodies(row: Row) -> Sequence[str]:
    """What the numbers of bodies stand for; nothing where a benchmark has none."""
    named = row.study.get("benchmark.bodies")
    return [str(name) for name in named] if isinstance(named, Sequence) and not isinstance(named, str) else []


def _panels(group: Group, column: Column, metrics: Metrics, bodies: Sequence[str]) -> tuple[list[Panel], set[str]]:
    """One for each body that was seen; one where there are none. And the runs that have a point in them."""
    from analysis.figures.courses import binned, extents, lines_of, over_runs

    best = _best(group)
    line_of = lines_of([cell.done for _, cell in best])
    read = metrics(line_of["run"].to_list())
    bins, whole = binned(read, column, extents(read))
    means = over_runs(bins, line_of, whole)
    having = set(bins["run"].to_list())
    panels = []
    for (body,), seen in means.group_by("body", maintain_order=True):
        series = []
        for (line,), points in seen.group_by("line", maintain_order=True):
            head, cell = best[line]
            series.append(
                Series(
                    label=head.label,
                    key=head.name,
                    x=points["place"].to_list(),
                    y=points["value"].to_list(),
                    y_sd=points["sd"].to_list(),
                    n=points["n"].to_list(),
                    runs=[run for run in cell.done if run in having],
                )
            )
        several = means["body"].n_unique() > 1
        name = bodies[body] if body < len(bodies) else f"body {body}"
        unit = f" ({column.measure.unit})" if column.measure.unit else ""
        panels.append(
            Panel(
                title=f"{group.title} · {name}" if several else group.title,
                x_label="task" if whole else "steps of the run",
                y_label=f"{column.measure.title}{unit}",
                series=series,
                x_whole=True,
                band=True,
                labels=True,
            )
        )
    return panels, having
