"""Which cell of a column is the best, and how it stands against the others."""

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
    """The cells of a column with the best marked, and the tests that the best was put to.

    Only complete cells are ranked and tested; none where the metric has no better direction.

    A cell from which the best is not told apart is marked as alike: Welch's test of the two has a p that is not below
    the table's level. Where there is no test, nothing is said of it.

    Against the next best, each is tested against the one after it; against all, the best alone, against each of them.
    effect: by what the intervals of effect sizes are made.
    """
    if not shown.better:
        return dict(cells), {}
    sign = 1 if shown.better == "less" else -1
    ranked = sorted((head for head in cells if cells[head].complete), key=lambda head: sign * cells[head].mean)
    if not ranked:
        return dict(cells), {}
    found = dict(cells)
    for head in ranked:
        best = cells[head].mean == cells[ranked[0]].mean
        found[head] = replace(cells[head], best=best, alike=not best and _alike(cells, ranked[0], head, table.level))
    if table.against == "all":
        found[ranked[0]], tests = _against_all(found, ranked, table.level, effect)
        return found, {ranked[0]: tests}
    for head, after in itertools.pairwise(ranked):
        found[head] = _against(found, head, after, table.level, effect)
    first = found[ranked[0]].against_next
    return found, {ranked[0]: [first]} if first else {}


def corrected(cells: Mapping[Place, Cell], tests: Mapping[Place, Sequence[Welch]]) -> dict[Place, Cell]:
    """The cells of a table with Holm's correction of all tests that it is read for: those of each column's best.

    Where the best was put to several tests, the greatest corrected p of them is its own.
    """
    read_for = [(best, test) for best, of in tests.items() for test in of]
    p_of: dict[Place, list[float]] = {}
    for (best, _), p in zip(read_for, holm([test.p for _, test in read_for]), strict=True):
        if p is not None:
            p_of.setdefault(best, []).append(p)
    return dict(cells) | {best: replace(cells[best], holm=max(of)) for best, of in p_of.items()}


def _alike(cells: Cells, best: Heading, other: Heading, level: float) -> bool:
    """Whether the best is not told apart from another cell."""
    test = welch(cells[best].values, cells[other].values)
    return test.p is not None and not test.significant(level)


def _against(cells: Cells, head: Heading, other: Heading, level: float, effect: Method) -> Cell:
    """A cell with its comparison with another; a mark of significance is the best's alone."""
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
    """The best with its comparison with the one from which it is told apart the least, and its tests against all."""
    best, *others = ranked
    if not others:
        return cells[best], []
    tests = {head: welch(cells[best].values, cells[head].values) for head in others}
    least = max(others, key=lambda head: (tests[head].p is None, tests[head].p or 0.0))
    cell = _against(cells, best, least, level, effect)
    return replace(cell, significant=all(test.significant(level) for test in tests.values())), list(tests.values())
