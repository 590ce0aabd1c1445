"""The runs of a store grouped for figures: the cells of a table, one group per column.

So figures show the same numbers as tables: a point never mixes runs with different settings, data or protocols.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from analysis.figures.drawing import Asked, Marker, Series
from analysis.outcomes import over_tasks
from analysis.reported import lines as reported
from analysis.rows import Row
from analysis.statistics.relations import pearson
from analysis.tables.build import build
from analysis.tables.declared.means import HEADLINE
from analysis.tables.made_by import made_lines
from analysis.tables.result import Cell, Heading, Result
from analysis.tables.table import Table

NAMED = 8
"""Up to this many incomplete cells, a caption names each."""


@dataclass(frozen=True)
class Group:
    """A column of a table: its runs share all but the activation, its settings and the seed.

    done: heading of a cell → its finished runs.
    """

    title: str
    result: Result
    column: Heading
    cells: Sequence[tuple[Heading, Cell]]
    done: dict[Heading, list[Row]]

    @property
    def runs(self) -> list[Row]:
        """Its finished runs."""
        return [row for rows in self.done.values() for row in rows]


def groups(table: Table[Result], rows: Sequence[Row], metric: str | None = None) -> list[Group]:
    """The columns of a table of these rows.  metric: by default the table's, or each agent's main metric."""
    results = build(table, rows, metric)
    row_of = {row.run: row for row in rows}
    names = dict.fromkeys(name for result in results for name in result.selection)
    told = [name for name in names if len({result.selection.get(name) for result in results}) > 1]
    found = []
    for result in results:
        words = ", ".join(result.selection[name] for name in told if name in result.selection)
        for column in result.columns:
            title = f"{column.label} · {words}" if words else column.label
            cells = [(head, cell) for head in result.rows if (cell := result.cells.get((head, column)))]
            done = {head: [row_of[run] for run in cell.done] for head, cell in cells}
            found.append(Group(title, result, column, cells, done))
    return found


def headline_groups(asked: Asked) -> list[Group]:
    """The groups of each agent's main metric, made once for all figures of the same rows."""
    if "headline" not in asked.made:
        asked.made["headline"] = groups(HEADLINE, asked.rows)
    return asked.made["headline"]


def dots(label: str, marker: Marker, cells: Sequence[tuple[Heading, Cell]]) -> Series:
    """A row of dots: the means of cells, with their SD over seeds, next to the names of their rows."""
    x, sd, n = ([getattr(cell, name) for _, cell in cells] for name in ("mean", "sd", "n"))
    y, runs = [head.label for head, _ in cells], [run for _, cell in cells for run in cell.runs]
    return Series(label, "", x, y, n, x_sd=sd, runs=runs, joined=False, marker=marker)


def means(
    label: str,
    key: str,
    points: Sequence[tuple[float, Sequence[float]]],
    runs: Sequence[str] = (),
    scale: float = 1.0,
    joined: bool = True,
) -> Series:
    """The means of the values at each x, with their SD.  scale: from the values to the unit."""
    x, y, n = [x for x, _ in points], [fmean(values) * scale for _, values in points], [len(of) for _, of in points]
    sd = [stdev(values) * scale if len(values) > 1 else None for _, values in points]
    return Series(label, key, x, y, n, y_sd=sd, runs=runs, joined=joined, marker="own")


def caption(groups: Sequence[Group], rows: Sequence[Row], first: str) -> list[str]:
    """The sentences below a figure: its content, the data of each panel, the runs that are not shown, and the code that
    computed them.
    """
    data: dict[str, list[str]] = {}
    choices: dict[str, set[str]] = {}
    for group in groups:
        data.setdefault(group.column.data, []).append(group.column.label)
        for name, value in group.result.selection.items():
            choices.setdefault(name, set()).add(value)
    shared = [f"{name} {values.pop()}" for name, values in choices.items() if len(values) == 1]
    shared = [words for words in shared if words != "intervention none"]
    lines = [first, *([f"All runs: {', '.join(shared)}."] if shared else [])]
    lines += [f"{', '.join(dict.fromkeys(labels))}: {words}." for words, labels in data.items()]
    mixes = {f"{head.label} on {group.title}": cell.mixed for group in groups for head, cell in group.cells}
    return [*lines, *not_shown(groups), *made_lines(rows, mixes)]


def not_shown(groups: Iterable[Group]) -> list[str]:
    """Runs that are in no point, with reasons; then remarks on shown runs that collapsed or have only some tasks."""
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
            if words := _counted(counts):
                named.append(f"{head.label} on {group.title} ({words} of {cell.expected})")
    lines = []
    if totals:
        more = f"; and {len(named) - NAMED} more cells" if len(named) > NAMED else ""
        lines.append(f"Not in the means: runs {_counted(totals)}: {'; '.join(named[:NAMED])}{more}.")
    if words := _counted(flags):
        lines.append(f"The runs in the means include: {words}.")
    if tasks:
        lines.append(
            f"In {len(tasks)} of the runs in the means no episode ended in some of the tasks: their means over tasks "
            f"are over {over_tasks(tasks)}."
        )
    return lines


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{many} {what}" for what, many in counts.items() if many)


def correlation_said(said_in: str, of: str, x: Sequence[float], y: Sequence[float], points: str, title: str) -> str:
    """Our correlation with its interval and p, and the paper's.

    said_in, of: the values in `claims_correlations.csv`. points: the word for the pairs, as "runs". title: names the
    runs.
    """
    found = pearson(x, y)
    if found.r is None or found.p is None:
        ours = f"none, since {found.reason}"
    else:
        interval = "" if found.low is None else f" [{found.low:.2f}, {found.high:.2f}]"
        ours = f"r = {found.r:.2f}{interval}, p = {found.p:.2g}"
    known = reported("claims_correlations.csv")
    paper = next((line for line in known if (line["said_in"], line["of"]) == (said_in, of)), None)
    theirs = "" if paper is None else f"; the paper's r = {paper['r']}, p = {paper['p']}"
    return f"Pearson's correlation of {of} ({title}), over {found.n} {points}: {ours}{theirs}."
