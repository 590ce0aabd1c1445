"""Tables of commands in the width of the window: a paragraph for each row if cells would be cut or broken."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

PRINTED_WIDTH = 120
"""Columns of a pipe or a file, which has no window."""
_WIDE = Console(width=10_000, height=1)  # a dumb terminal heeds no width alone


def window() -> Console:
    """The terminal, or a pipe or file of PRINTED_WIDTH columns."""
    return Console(width=None if Console().is_terminal else PRINTED_WIDTH, highlight=False)


def print_table(console: Console, table: Table) -> None:
    """Prints a table; if it is too wide, a paragraph for each row: the first cell, then headings and other cells."""
    if _WIDE.measure(table).maximum <= console.width:
        console.print(table)
        return
    headings = [str(column.header) for column in table.columns]
    for name, *cells in zip(*(column.cells for column in table.columns), strict=True):
        words = [f"{heading} {cell}" for heading, cell in zip(headings[1:], cells, strict=True)]
        console.print(Text(str(name), style="bold"))
        console.print(Padding(" · ".join(words), (0, 0, 0, 2), expand=False), markup=False)
    if table.caption:
        console.print(table.caption)
