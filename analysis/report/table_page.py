"""A table of the papers for a page: the words of its text, with what to sort them by."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.tables.render import grid, title
from analysis.tables.table import Result


@dataclass(frozen=True)
class Shown:
    """A cell: its words; whether its column has numbers, by which it is then sorted, and its own, None without one."""

    words: str
    is_number: bool = False
    number: float | None = None
    best: bool = False

    @property
    def style(self) -> str:
        """Its classes in the page."""
        return " ".join([*(["number"] if self.is_number else ["long"]), *(["best"] if self.best else [])])


@dataclass(frozen=True)
class TablePage:
    """A table: title, headings, lines of cells, the sentences below it."""

    title: str
    header: Sequence[str]
    body: Sequence[Sequence[Shown]]
    caption: Sequence[str]


NOTHING = "–"
BEST = "\N{NO-BREAK SPACE}"
"""Marks, between rendering and page, a number that is the best."""


def table_page(result: Result) -> TablePage:
    """The same words as in the terminal."""
    header, body, _ = grid(result, f"{BEST}{{}}".format, escape=str)
    numeric = [place > 0 and not any(_is_word(line[place]) for line in body) for place in range(len(header))]
    lines = [
        [
            Shown(words.removeprefix(BEST), is_number, _number(words) if is_number else None, words.startswith(BEST))
            for words, is_number in zip(line, numeric, strict=True)
        ]
        for line in body
    ]
    return TablePage(title(result), header, lines, result.caption)


def _is_word(cell: str) -> bool:
    return _number(cell) is None and not cell.startswith(NOTHING)


def _number(words: str) -> float | None:
    """The number that a cell begins with; none in a cell without one."""
    try:
        return float(words.removeprefix(BEST).partition(" ")[0].rstrip("†‡").replace(",", ""))
    except ValueError:
        return None
