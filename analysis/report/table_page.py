"""A table of the papers for a page: the words of its text, with the numbers for sorting."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.rows import Row
from analysis.tables import TABLES
from analysis.tables.declared.headline import HEADLINE
from analysis.tables.listing import NOTHING, Listing, formatted
from analysis.tables.stages import Metrics
from analysis.tables.table import Table

BEST = "\N{NO-BREAK SPACE}"
"""Marks a best number, between rendering and page."""
PAPER = "paper"
"""The heading of the paper's values."""


@dataclass(frozen=True)
class CellPage:
    """A cell of a table on the page.

    is_number: whether its column has only numbers and is sorted by them. number: the cell's number; None if it has
    none, or if the column is not sorted by numbers.
    """

    words: str
    is_number: bool
    number: float | None
    is_best: bool
    is_long: bool

    @property
    def style(self) -> str:
        """The cell's CSS classes."""
        classes = {"number": self.is_number, "best": self.is_best, "long": self.is_long}
        return " ".join(name for name, is_so in classes.items() if is_so)


@dataclass(frozen=True)
class TablePage:
    """A table on the page: title, headings, lines of cells, and the sentences below it."""

    title: str
    header: Sequence[str]
    body: Sequence[Sequence[CellPage]]
    caption: Sequence[str]


def table_pages(rows: Sequence[Row], metrics: Metrics) -> list[TablePage]:
    """Every table of the papers that the runs can fill, and the main metrics that no such table shows."""
    pages = []
    for table in TABLES.values():
        able = _able(table, rows)
        shown = table.listings(able, None, metrics) if able and table.needs_runs() else []
        if any(each.is_ours for each in shown):
            pages += [table_page(each) for each in shown]
    return pages


def _able(table: Table[Any], rows: Sequence[Row]) -> list[Row]:
    """The rows of agents that measure the number of a table."""
    if table is HEADLINE:
        elsewhere = {other.cell for other in TABLES.values()}
        return [row for row in rows if row.declared.headline not in elsewhere]
    return [row for row in rows if table.cell is None or table.cell in row.declared.summaries]


def table_page(shown: Listing) -> TablePage:
    """A table with the words of the terminal, without empty columns of the paper's values (the caption says so)."""
    grid = formatted(shown, f"{BEST}{{}}".format, escape=str)
    kept = [
        place
        for place, heading in enumerate(grid.header)
        if heading != PAPER or any(line[place] != NOTHING for line in grid.body)
    ]
    numeric = {place for place in kept[1:] if not any(_is_word(line[place]) for line in grid.body)}
    lines = [
        [
            CellPage(
                words=line[place].removeprefix(BEST),
                is_number=place in numeric,
                number=_number(line[place]) if place in numeric else None,
                is_best=line[place].startswith(BEST),
                is_long=place in grid.long,
            )
            for place in kept
        ]
        for line in grid.body
    ]
    return TablePage(shown.title, [grid.header[place] for place in kept], lines, shown.caption)


def _is_word(cell: str) -> bool:
    return _number(cell) is None and not cell.startswith(NOTHING)


def _number(words: str) -> float | None:
    """The number at the beginning of a cell; None if it has none."""
    try:
        return float(words.removeprefix(BEST).partition(" ")[0].rstrip("†‡").replace(",", ""))
    except ValueError:
        return None
