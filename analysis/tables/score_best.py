"""Which arm is the best of a column of a table over environments, and from which others it is not told apart."""

from collections.abc import Mapping

import numpy as np

from analysis.statistics.bounded import Spread
from analysis.statistics.welch import welch
from analysis.tables.scores import Arm, Scores, Shown
from analysis.tables.table import Table

PUBLISHED = "as published"
"""The heading of intervals that are made as the paper makes them, where ours are made otherwise."""
Places = frozenset[tuple[str, str]]
"""(label of an arm, column)."""


def best(table: Table[Scores], found: Scores) -> Places:
    """The best of each column among arms that are complete; of a gap the lowest. None in a column of one."""
    if found.printed_best is not None:
        return found.printed_best
    choose = min if table.returns == "gap" else max
    places = set()
    for column in _columns(found):
        values = {label: shown.value or 0.0 for label, shown in _complete(found.arms, column).items()}
        if len(values) > 1:
            of_all = choose(values.values())
            places |= {(label, column) for label, value in values.items() if value == of_all}
    return frozenset(places)


def alike(table: Table[Scores], found: Scores) -> Places:
    """Those from which the best of their column is not told apart, at the table's level.

    Means by Welch's test, scores by the bootstrap that draws their bounds anew. Where there is no test, as of numbers
    over environments that are shown without an interval, nothing is said.
    """
    places = set()
    for label, column in best(table, found):
        shown = _complete(found.arms, column)
        for other in shown.keys() - {label}:
            p = _p(found.spread, label, other, shown)
            if p is not None and p >= table.level and shown[other].value != shown[label].value:
                places.add((other, column))
    return frozenset(places)


def _p(spread: Spread | None, label: str, other: str, shown: Mapping[str, Shown]) -> float | None:
    if spread is not None:
        difference = np.array([(shown[label].value or 0.0) - (shown[other].value or 0.0)])
        (p,) = spread.p_of(label, other, difference)
        return None if np.isnan(p) else float(p)
    return welch(shown[label].values, shown[other].values).p


def _columns(found: Scores) -> list[str]:
    columns = dict.fromkeys(column for arm in found.arms.values() for column in arm.columns)
    return [column for column in columns if column != "sd"]


def _complete(arms: Mapping[str, Arm], column: str) -> dict[str, Shown]:
    """The arms that are ranked in a column."""
    there = {label: arm.columns.get(column) for label, arm in arms.items() if arm.n == arm.expected}
    return {
        label: shown for label, shown in there.items() if shown and shown.value is not None and not shown.no_episode
    }
