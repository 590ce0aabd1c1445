"""The runs of a store as figures take them: the cells of a table, a group for each column of it.

Figures so show what tables show: runs of different settings, data or protocols never meet in one point.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis.figures.asked import Asked
from analysis.figures.drawing import Marker, Series
from analysis.outcomes import over_tasks
from analysis.rows import Row
from analysis.tables.build import build
from analysis.tables.declared.headline import HEADLINE
from analysis.tables.made_by import made_lines
from analysis.tables.result import Cell, Heading, Result
from analysis.tables.table import Table

NAMED = 8
"""How many cells that are not whole a caption names one by one."""


@dataclass(frozen=True)
class Group:
    """A column of a table: its runs share all but the activation, its own settings and the seed."""

    title: str
    result: Result
    column: Heading
    cells: Sequence[tuple[Heading, Cell]]


def groups(table: Table[Result], rows: Sequence[Row], metric: str | None = None) -> list[Group]:
    """The columns of that table of the rows; metric: None for the table's own, else what each agent names first."""
    results = build(table, rows, metric)
    several = [name for result in results for name in result.selection]
    told = [name for name in dict.fromkeys(several) if len({result.selection.get(name) for result in results}) > 1]
    found = []
    for result in results:
        words = ", ".join(result.selection[name] for name in told if name in result.selection)
        for column in result.columns:
            title = f"{column.label} · {words}" if words else column.label
            cells = [(head, cell) for head in result.rows if (cell := result.cells.get((head, column)))]
            found.append(Group(title, result, column, cells))
    return found


def headline_groups(asked: Asked) -> list[Group]:
    """The groups of each agent's main metric, made once for all figures of the same rows."""
    if "headline" not in asked.made:
        asked.made["headline"] = groups(HEADLINE, asked.rows)
    return asked.made["headline"]


def dots(label: str, marker: Marker, cells: Sequence[tuple[Heading, Cell]]) -> Series:
    """A row of dots: the means of cells that have one, with their SD over seeds, beside the names of their rows."""
    return Series(
        label=label,
        key="",
        x=[cell.mean for _, cell in cells],
        x_sd=[cell.sd for _, cell in cells],
        y=[head.label for head, _ in cells],
        n=[cell.n for _, cell in cells],
        runs=[run for _, cell in cells for run in cell.runs],
        joined=False,
        marker=marker,
    )


def selection(groups: Sequence[Group]) -> str:
    """Protocol, schedule and hyperparameters that all of them share, in words."""
    shared: dict[str, set[str]] = {}
    for group in groups:
        for name, value in group.result.selection.items():
            shared.setdefault(name, set()).add(value)
    words = [f"{name} {values.pop()}" for name, values in shared.items() if len(values) == 1]
    return ", ".join(word for word in words if word != "intervention none")


def caption(groups: Sequence[Group], rows: Sequence[Row], first: str) -> list[str]:
    """What must be said below a figure: what it shows, the data of each panel, which runs are not in it, and what
    computed them.
    """
    data: dict[str, list[str]] = {}
    for group in groups:
        data.setdefault(group.column.data, []).append(group.column.label)
    shared = selection(groups)
    lines = [first, *([f"All runs: {shared}."] if shared else [])]
    lines += [f"{', '.join(dict.fromkeys(labels))}: {words}." for words, labels in data.items()]
    mixes = {f"{head.label} on {group.title}": cell.mixed for group in groups for head, cell in group.cells}
    return [*lines, *not_shown(groups), *made_lines(rows, mixes)]


def not_shown(groups: Iterable[Group]) -> list[str]:
    """Which runs no point has, and why; which it has although they collapsed, and of which tasks means are not."""
    totals: Counter[str] = Counter()
    flags: Counter[str] = Counter()
    named = []
    tasks: list[tuple[int, int]] = []
    for group in groups:
        for head, cell in group.cells:
            tasks += cell.some_tasks
            counts = {"diverged": cell.diverged, "failed": cell.failed, "stopped early": cell.stopped}
            without = {"without an ended episode": cell.no_episode, "without a value": cell.no_value}
            absent = cell.expected - cell.n - sum(counts.values()) - sum(without.values())
            counts |= {"not finished": max(absent, 0), **without}
            totals.update({what: many for what, many in counts.items() if many})
            flags.update({"collapsed": cell.collapsed, **cell.flagged})
            if words := ", ".join(f"{many} {what}" for what, many in counts.items() if many):
                named.append(f"{head.label} on {group.title} ({words} of {cell.expected})")
    lines = []
    if totals:
        words = ", ".join(f"{many} {what}" for what, many in totals.items())
        more = f"; and {len(named) - NAMED} more cells" if len(named) > NAMED else ""
        lines.append(f"Not in the means: runs {words}: {'; '.join(named[:NAMED])}{more}.")
    if words := ", ".join(f"{many} {flag}" for flag, many in flags.items() if many):
        lines.append(f"Of the runs in the means: {words}.")
    if tasks:
        lines.append(
            f"In {len(tasks)} of the runs in the means no episode ended in some of the tasks: their means over tasks "
            f"are over {over_tasks(tasks)}."
        )
    return lines
