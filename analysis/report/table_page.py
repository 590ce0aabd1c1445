"""A table of the papers for a page: the words of its text, with what to sort them by."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.rows import Row
from analysis.tables import TABLES
from analysis.tables.declared.headline import HEADLINE
from analysis.tables.listing import NOTHING, Listing, formatted
from analysis.tables.stages import Metrics
from analysis.tables.table import Table

BEST = "\N{NO-BREAK SPACE}"
"""Marks, between rendering and page, a number that is the best."""
BESIDE = "paper"
"""The heading of the paper's values."""


@dataclass(frozen=True)
class CellPage:
    """A cell: its words; whether its column has numbers, by which it is then sorted, and its own, None without one."""

    words: str
    is_number: bool = False
    number: float | None = None
    is_best: bool = False
    is_long: bool = False

    @property
    def style(self) -> str:
        """Its classes in the page."""
        classes = {"number": self.is_number, "best": self.is_best, "long": self.is_long}
        return " ".join(name for name, is_so in classes.items() if is_so)


@dataclass(frozen=True)
class TablePage:
    """A table: title, headings, lines of cells, the sentences below it."""

    title: str
    header: Sequence[str]
    body: Sequence[Sequence[CellPage]]
    caption: Sequence[str]


def table_pages(rows: Sequence[Row], metrics: Metrics) -> list[TablePage]:
    """Every table of the papers that the runs can feed, and the headlines of agents that none of these shows."""
    pages = []
    for table in TABLES.values():
        able = _able(table, rows)
        shown = table.listings(able, None, metrics) if able and table.needs_runs() else []
        if any(each.is_ours for each in shown):
            pages += [table_page(each) for each in shown]
    return pages


def _able(table: Table[Any], rows: Sequence[Row]) -> list[Row]:
    """The rows whose agents measure what a table shows."""
    if table is HEADLINE:
        elsewhere = {other.cell for other in TABLES.values()}
        return [row for row in rows if row.declared.headline not in elsewhere]
    return [row for row in rows if table.cell is None or table.cell in row.declared.summaries]


def table_page(shown: Listing) -> TablePage:
    """The same words as in the terminal, without columns of the paper's where it has nothing, as the caption tells."""
    grid = _filled(formatted(shown, f"{BEST}{{}}".format, escape=str))
    numeric = [place > 0 and not any(_is_word(line[place]) for line in grid.body) for place in range(len(grid.header))]
    lines = [
        [
            CellPage(
                words=words.removeprefix(BEST),
                is_number=is_number,
                number=_number(words) if is_number else None,
                is_best=words.startswith(BEST),
                is_long=place in grid.long,
            )
            for place, (words, is_number) in enumerate(zip(line, numeric, strict=True))
        ]
        for line in grid.body
    ]
    return TablePage(shown.title, grid.header, lines, shown.caption)


def _filled(grid: Listing) -> Listing:
    empty = {place for place in range(len(grid.header)) if all(line[place] == NOTHING for line in grid.body)}
    kept = [place for place, heading in enumerate(grid.header) if place not in empty or heading != BESIDE]
    return replace(
        grid,
        header=[grid.header[place] for place in kept],
        body=[[line[place] for place in kept] for line in grid.body],
        right=frozenset(at for at, place in enumerate(kept) if place in grid.right),
        long=frozenset(at for at, place in enumerate(kept) if place in grid.long),
    )


def _is_word(cell: str) -> bool:
    return _number(cell) is None and not cell.startswith(NOTHING)


def _number(words: str) -> float | None:
    """The number that a cell begins with; none in a cell without one."""
    try:
        return float(words.removeprefix(BEST).partition(" ")[0].rstrip("†‡").replace(",", ""))
    except ValueError:
        return None
