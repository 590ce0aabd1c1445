"""Finds the best cell of a column, and tests it against the others."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from analysis.statistics.hedges import hedges
from analysis.statistics.holm import holm
from analysis.statistics.method import Method
from analysis.statistics.paired import paired
from analysis.statistics.welch import Welch, welch
from analysis.tables.result import Cell, Heading, Place, Result
from analysis.tables.table import Table
from plasticity_lab.records.measures import Measure

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
