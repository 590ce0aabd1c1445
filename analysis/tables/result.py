"""The content of a table of means: cells by row and column, the best cell of a column, and its tests."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from analysis.reported import Published
from analysis.rows import Row
from analysis.statistics.method import Method
from analysis.statistics.two_groups import Hedges, Paired, Welch, hedges, holm, paired, welch
from analysis.tables.table import Table
from plasticity_lab.records.measures import Measure


@dataclass(frozen=True)
class Cell:
    """The runs of one setting.

    Finished runs are runs with a value. These fields describe the finished runs:
    mean, sd, values: in the metric's unit. runs: their ids. seeds: their seeds.
    beside: the means of further measures, as stored. collapsed: the number of collapsed runs.
    flagged: flag → number of runs.
    mixed: differences in how the runs were computed → number of runs: {"mode": {"eager": 2, "compiled": 3}}.
    some_tasks: for each run with ended episodes in only some tasks, the number of these tasks and of all tasks.

    own: the settings that belong to the activation.
    expected: the expected number of runs. waiting: planned runs that have not ended. stopped: runs that a search
    stopped early. superseded: runs left out because the same settings and seed were run again later.
    done: the ids of all done runs, with or without a value. no_episode, no_value: the number of done runs without a
    value because no episode ended, or for another reason.

    best: the cell is the best of its column. alike: it is not the best, and not significantly different from the best.
    best, alike and significant are False for a cell with missing runs.
    next: the name of the next best complete cell of the column. If the table compares the best with all others, it is
    the cell with the least significant difference, and the other cells have no test.
    against_next: Welch's test against the cell `next`. effect: the effect size of that pair.
    paired: for the best of a column, the paired test against `next`, if both have the same seeds.
    holm: for the best of a column, Welch's p-value, corrected for the tests of all columns' best cells.
    """

    mean: float | None
    sd: float | None
    n: int
    expected: int
    diverged: int
    failed: int
    collapsed: int
    waiting: int
    superseded: int
    values: Sequence[float]
    runs: Sequence[str]
    seeds: Sequence[tuple[int | None, ...]]
    beside: Mapping[str, float | None]
    own: Mapping[str, object]
    flagged: Mapping[str, int] = field(default_factory=dict)
    mixed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    done: Sequence[str] = ()
    no_episode: int = 0
    no_value: int = 0
    stopped: int = 0
    some_tasks: Sequence[tuple[int, int]] = ()
    paper: Published | None = None
    best: bool = False
    alike: bool = False
    significant: bool = False
    next: str | None = None
    against_next: Welch | None = None
    effect: Hedges | None = None
    paired: Paired | None = None
    holm: float | None = None

    @property
    def complete(self) -> bool:
        """Whether every expected run has finished with a value."""
        return self.n > 0 and self.n == self.expected


@dataclass(frozen=True)
class Heading:
    """A row or a column.

    name: the name in the store. label: the displayed heading.
    settings: the settings that differ from other runs of that name, as written in a command.

    A column also has facts for the caption. data: from `data_line`. cautions: from `cautions_of`. seeds: its seeds.
    unlike: the settings that differ from the paper's, such as "order=shuffle, there fixed"; empty if the paper's number
    belongs to the same protocol.
    """

    name: str
    label: str
    settings: tuple[str, ...] = ()
    data: str = ""
    cautions: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    unlike: tuple[str, ...] = ()


Place = tuple[Heading, Heading]
"""A row and a column."""


@dataclass(frozen=True)
class Result:
    """A table of one selection of runs: cells by row and column; a pair without runs has no cell.

    metric: the metric of the cells. beside: the measures that are shown next to them.
    paper: the paper's values of the metric by the names of row and column, with or without runs.
    tests: the number of tests in Holm's correction.
    above: the mean of a cell minus the mean of its row in the reference column, if both exist, in the metric's unit.
    """

    table: "Table[Result]"
    runs: Sequence[Row]
    metric: Measure
    beside: Sequence[Measure]
    selection: Mapping[str, str]
    rows: Sequence[Heading]
    columns: Sequence[Heading]
    cells: Mapping[Place, Cell]
    paper: Mapping[tuple[str, str], Published] = field(default_factory=dict)
    tests: int = 0
    above: Mapping[Place, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The table's title, with the metric and the selection."""
        return f"{self.table.title}: {self.metric.title}{chosen_words(self.selection)}"


def chosen_words(selection: Mapping[str, str]) -> str:
    """A selection to follow a title, such as " (as_published, full, best)"; intervention=none is left out."""
    names = [name for choice, name in selection.items() if (choice, name) != ("intervention", "none")]
    return f" ({', '.join(names)})" if names else ""


Cells = Mapping[Heading, Cell]


def judged(
    cells: Cells, table: Table[Result], shown: Measure, effect: Method
) -> tuple[dict[Heading, Cell], dict[Heading, list[Welch]]]:
    """The cells of a column with the best marked, and the tests of the best.

    Only complete cells are ranked and tested, and no cells if the metric has no better direction. `alike` marks a cell
    that is not significantly different from the best: Welch's p-value is not below the table's level. A pair without a
    test gets no mark.

    If the table compares with the next best, each cell is tested against the cell after it. If the table compares with
    all, only the best is tested, against each other cell.
    effect: the method of the effect sizes' intervals.
    """
    sign = 1 if shown.better == "less" else -1
    ranked = sorted((head for head in cells if cells[head].complete), key=lambda head: sign * cells[head].mean)
    if not shown.better or not ranked:
        return dict(cells), {}
    first, marked = ranked[0], dict(cells)
    for head in ranked:
        best = cells[head].mean == cells[first].mean
        test = welch(cells[first].values, cells[head].values)
        alike = not best and test.p is not None and not test.significant(table.level)
        marked[head] = replace(cells[head], best=best, alike=alike)
    if table.against == "all":
        marked[first], tests = _against_all(marked, ranked, table.level, effect)
        return marked, {first: tests}
    for head, after in itertools.pairwise(ranked):
        marked[head] = _against(marked, head, after, table.level, effect)
    test = marked[first].against_next
    return marked, {first: [test]} if test else {}


def corrected(cells: Mapping[Place, Cell], tests: Mapping[Place, Sequence[Welch]]) -> dict[Place, Cell]:
    """The cells of a table with Holm's correction for the tests of all columns' best cells.

    A best cell with several tests gets the largest of its corrected p-values.
    """
    places = [best for best, of_best in tests.items() for _ in of_best]
    p_values = holm([test.p for of_best in tests.values() for test in of_best])
    p_of: dict[Place, list[float]] = {}
    for best, p in zip(places, p_values, strict=True):
        if p is not None:
            p_of.setdefault(best, []).append(p)
    return dict(cells) | {best: replace(cells[best], holm=max(of_best)) for best, of_best in p_of.items()}


def _against(cells: Cells, head: Heading, other: Heading, level: float, effect: Method) -> Cell:
    """A cell with its comparison with another cell; only the best cell is marked as significant."""
    cell, values = cells[head], (cells[head].values, cells[other].values)
    test = welch(*values)
    return replace(
        cell,
        next=other.label,
        against_next=test,
        significant=cell.best and test.significant(level),
        effect=hedges(*values, level=effect.level),
        paired=paired(*values) if cell.best and cell.seeds == cells[other].seeds else None,
    )


def _against_all(cells: Cells, ranked: Sequence[Heading], level: float, effect: Method) -> tuple[Cell, list[Welch]]:
    """The best cell, compared with the cell of the least significant difference, and its tests against all cells."""
    best, *others = ranked
    if not others:
        return cells[best], []
    tests = {head: welch(cells[best].values, cells[head].values) for head in others}
    least = max(others, key=lambda head: (tests[head].p is None, tests[head].p or 0.0))
    cell = _against(cells, best, least, level, effect)
    return replace(cell, significant=all(test.significant(level) for test in tests.values())), list(tests.values())
