"""The order of change: for accuracy and each other measure, the first task outside its range over the first tasks.

The measures are for the whole network, at the end of tasks, averaged over seeds.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from analysis.figures.drawing import Asked, Drawing, Panel, Series
from analysis.figures.groups import Group, caption, headline_groups
from analysis.statistics.usual_range import deviations_for
from analysis.tables.table import Metrics
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Column

if TYPE_CHECKING:
    import polars as pl

FIRST, FALSE_ALARMS = 10, 0.05
"""The number of tasks that define a measure's usual range, and the chance that plain noise leaves it later."""
Left = Mapping[str, int | None]
"""Column → the first task (counted from 1) when it is outside its range; None if it never is."""


def early_warning(asked: Asked) -> Drawing:
    """The figure: a panel for each set of runs that share all but activation and seed, a row for each measure.

    Raises ConfigError if no finished run has more tasks than those that make the range.
    """
    found = headline_groups(asked)
    panels: list[Panel] = []
    never: list[str] = []
    for group in found:
        panel, stays = _panel(group, asked.metrics)
        panels += [panel] if panel else []
        never += stays
    if not panels:
        raise ConfigError(
            f"No measure of a finished run leaves the range of its first {FIRST} tasks, or no run has more tasks."
        )
    said = (
        "The first task after which a measure's mean over seeds leaves its usual range. The range is its mean over "
        f"the first {FIRST} tasks and a number of standard deviations of these {FIRST} means; plain noise leaves it in "
        f"{FALSE_ALARMS:.0%} of the cases."
    )
    return Drawing("early_warning", "What moves first", panels, [*caption(found, asked.rows, said), *never])


def _panel(group: Group, metrics: Metrics) -> tuple[Panel | None, list[str]]:
    """The panel of a group, None if no measure leaves its range; and sentences on the measures that never leave it."""
    columns = _columns(group)
    title_of = {column.name: column.measure.title for column in columns}
    series: list[Series] = []
    first: dict[str, int] = {}
    stays: list[str] = []
    for head, rows in group.done.items():
        if not rows:
            continue
        runs = [row.run for row in rows]
        left = left_at(metrics, runs, columns)
        moved = [(at, title_of[name]) for name, at in left.items() if at is not None]
        for at, title in moved:
            first[title] = min(at, first.get(title, at))
        x, y = [at for at, _ in moved], [title for _, title in moved]
        series.append(Series(head.label, head.name, x, y, [len(runs)] * len(x), runs=runs, joined=False, marker="own"))
        if names := [title_of[name] for name, at in left.items() if at is None]:
            stays.append(f"Never outside, {head.label}: {', '.join(names)}.")
    if not first:
        return None, []
    titles = [title for title in dict.fromkeys(title_of.values()) if title in first]
    order = sorted(titles, key=lambda title: first[title])  # the measure that changes first is at the top
    label = "first task outside the usual range"
    return Panel(group.title, label, "", series, categories=order, x_whole=True), stays


def left_at(metrics: Metrics, runs: Sequence[str], columns: Sequence[Column]) -> Left:
    """The task when each column leaves its range, by the mean over these runs; they differ only in the seed."""
    import polars as pl  # half a second to import; other figures do not need it

    read = metrics(runs)
    names = [column.name for column in columns if column.name in read.collect_schema()]
    means = read.filter(pl.col("kind") == "task").group_by("task").agg(pl.col(names).mean()).sort("task").collect()
    return {name: _left(means[name]) for name in names}


def _left(means: "pl.Series") -> int | None:
    values = [float("nan") if value is None else float(value) for value in means]
    first = values[:FIRST]
    if len(values) <= FIRST or not all(isfinite(value) for value in first):
        return None
    usual, room = fmean(first), deviations_for(FALSE_ALARMS, FIRST, len(values) - FIRST) * stdev(first)
    return next((at for at, value in enumerate(values, 1) if at > FIRST and abs(value - usual) > room), None)


def _columns(group: Group) -> list[Column]:
    """The columns by task: the agents' columns, and the diagnostics' columns for the whole network.

    If a column's name begins with the name of another column, it is for one place in the network, or for the precision
    of the other column.
    """
    named = {column.name: column for row in group.runs for column in row.declared.columns_of("task")}
    whole = [name for name in named if not any(name.startswith(f"{other}_") for other in named)]
    return [named[name] for name in whole]
