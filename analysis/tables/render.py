"""Tables as terminal text, Markdown, CSV and LaTeX. All four show the same numbers; CSV has full precision."""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

import rich.markup
import tabulate
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from analysis.tables.listing import Listing, formatted

TEXT_WIDTH = 160
"""The minimum width of text for a pipe or a file, which has no window."""
BROKEN_WIDTH = 100
"""The maximum width of a table with blocks in a pipe or a file; a wider table is split into its blocks."""
LEAST_NAME = 12
"""The minimum width of the first column of a block."""
LONG_WIDTH = 100
"""The maximum width of a column that may be broken into lines."""
LONG_COLUMN = r"p{0.6\textwidth}"
PAGE_WIDTH = r"\ifdim\width>\textwidth\textwidth\else\width\fi"
"""The width of a table in LaTeX: its natural width, at most the width of the page."""
_WIDE = Console(width=10_000, height=1)  # a dumb terminal heeds no width alone
# tabulate's booktabs format escapes everything, \textbf too; this format escapes nothing.
_BOOKTABS = tabulate.TableFormat(
    lineabove=tabulate.Line(r"\toprule", "", "", ""),
    linebelowheader=tabulate.Line(r"\midrule", "", "", ""),
    linebetweenrows=None,
    linebelow=tabulate.Line(r"\bottomrule", "", "", ""),
    headerrow=tabulate.DataRow("", " & ", r" \\"),
    datarow=tabulate.DataRow("", " & ", r" \\"),
    padding=0,
    with_header_hide=None,
)
_WORDS = re.compile(r"(?<=[a-z]),(?=[a-z])")
"""A comma between words of a command, not within a number; LaTeX may break the line there."""
_LATEX_SIGNS = str.maketrans(
    tabulate.LATEX_ESCAPE_RULES
    | {
        "±": r"$\pm$",
        "≤": r"$\le$",
        "≥": r"$\ge$",
        "×": r"$\times$",
        "†": r"$^\dagger$",
        "‡": r"$^\ddagger$",
        "∈": r"$\in$",
        "−": "$-$",
        "✓": r"\checkmark",
        "–": "--",
        "φ": r"$\varphi$",
        "α": r"$\alpha$",
        "′": "$'$",
        "″": "$''$",
        "|": "$|$",
    }
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""The first signs of a formula in a spreadsheet (OWASP, "CSV Injection")."""


def terminal(shown: Sequence[Listing], console: Console) -> None:
    """Prints the tables.

    A table that is wider than the window is printed in full; the window wraps it, so no number is cut. A table with
    blocks is split into its blocks instead.
    """
    for listing in shown:
        bold = "**{}**".format if console.color_system is None else "[bold]{}[/]".format  # a dumb terminal has none
        grid = formatted(listing, bold, escape=rich.markup.escape)
        window = console.size
        console.print(Text(listing.title, style="bold"))
        for table in _broken(grid, console):
            # rich cuts a table that is wider than its console.
            console.size = max(window.width, _width(table)), window.height
            console.print(table, no_wrap=not listing.blocks)
            console.size = window
        for line in listing.caption:
            console.print(Text(line), width=min(window.width, BROKEN_WIDTH if listing.blocks else TEXT_WIDTH))
        console.print()


def _broken(grid: Listing, console: Console) -> list[RichTable]:
    """The table as a list of one; if it is too wide and has blocks, its blocks."""
    whole = _laid_out(grid, range(len(grid.header)))
    limit = console.width if console.is_terminal else min(console.width, BROKEN_WIDTH)
    if not grid.blocks or _width(whole) <= limit:
        return [whole]
    return [_laid_out(grid, [0, *block], limit) for block in grid.blocks]


def _laid_out(grid: Listing, places: Sequence[int], width: int | None = None) -> RichTable:
    """Some columns of a table.  width: the maximum width of a block; the first column of a block may be folded."""
    table = RichTable(box=box.SIMPLE_HEAD)
    for place in places:
        is_long = place in grid.long
        folds = is_long or (width is not None and place == 0)
        table.add_column(
            grid.header[place],
            justify="right" if place in grid.right else "left",
            no_wrap=not folds,
            overflow="fold" if folds else "ellipsis",
            max_width=LONG_WIDTH if is_long else None,
        )
    for line in grid.body:
        table.add_row(*(line[place] for place in places))
    if width is not None:
        needed = _width(table)
        first = max(len(line[0]) for line in [grid.header, *grid.body])
        # Only names are folded: if numbers alone are too wide, the window wraps them.
        table.width = max(min(width, needed), needed - max(first - LEAST_NAME, 0))
    return table


def _width(table: RichTable) -> int:
    """The minimum width that shows a table without cut or folded cells."""
    return Measurement.get(_WIDE, _WIDE.options, table).maximum


def text(shown: Sequence[Listing]) -> str:
    """The terminal text for a file; `**` means bold."""
    file = io.StringIO()
    terminal(shown, Console(file=file, width=TEXT_WIDTH, force_terminal=False, color_system=None))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def markdown(shown: Sequence[Listing]) -> str:
    """GitHub's Markdown: a heading, the table, the caption."""
    parts = []
    for listing in shown:
        grid = formatted(listing, "**{}**".format, escape=lambda words: words.replace("|", r"\|"))
        sides = ["right" if place in grid.right else "left" for place in range(len(grid.header))]
        table = tabulate.tabulate(grid.body, grid.header, tablefmt="pipe", disable_numparse=True, colalign=sides)
        caption = "\n".join(f"- {line}" for line in listing.caption)
        parts.append(f"### {listing.title}\n\n{table}\n\n{caption}\n")
    return "\n".join(parts)


def latex(shown: Sequence[Listing]) -> str:
    """One table environment for each table, after a comment with the required packages; wide tables are scaled down."""
    parts = ["% \\usepackage{amssymb, booktabs, graphicx}\n"]
    for listing in shown:
        grid = formatted(listing, r"\textbf{{{}}}".format, escape=_latex_escape)
        table = tabulate.tabulate(grid.body, grid.header, tablefmt=_BOOKTABS, disable_numparse=True)
        caption = _WORDS.sub(r",\\allowbreak{}", " ".join(map(_latex_escape, listing.caption)))
        caption = f"\\caption{{{_latex_escape(listing.heading or listing.title)}. {caption}}}"
        sides = ["r" if place in grid.right else "l" for place in range(len(grid.header))]
        for place in grid.long:
            sides[place] = LONG_COLUMN
        tabular = f"\\begin{{tabular}}{{{''.join(sides)}}}\n{table}\n\\end{{tabular}}"
        tabular = f"\\resizebox{{{PAGE_WIDTH}}}{{!}}{{{tabular}}}"
        parts.append(f"\\begin{{table}}\n\\centering\n{caption}\n{tabular}\n\\end{{table}}\n")
    return "\n".join(parts)


def csv_text(shown: Sequence[Listing]) -> str:
    """CSV for programs: one line for each cell, in full precision. A cell without runs has the command to fill it."""
    lines = [line for listing in shown for line in listing.lines]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(dict.fromkeys(name for line in lines for name in line)), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: guarded(cell) for name, cell in line.items()} for line in lines)
    return file.getvalue()


def guarded(cell: Any) -> Any:
    """A cell of a CSV, with an apostrophe before text that a spreadsheet would evaluate, because names are not trusted.

    Numbers are unchanged.
    """
    if not isinstance(cell, str) or not cell.startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _latex_escape(words: str) -> str:
    return words.translate(_LATEX_SIGNS)
