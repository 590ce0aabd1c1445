"""A result as terminal text, Markdown, CSV and LaTeX. The four show the same numbers; CSV has them in full."""

import csv
import io
import re
from collections.abc import Sequence

import rich.markup
import tabulate
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from analysis.csv_cells import guarded
from analysis.tables.listing import Listing, formatted

TEXT_WIDTH = 160
"""The least width of text that goes to a pipe or a file, where nobody can make the window wider."""

BROKEN_WIDTH = 100
"""Where a table of blocks is broken if it goes to a pipe or a file."""
LEAST_NAME = 12
"""How narrow the first column of a block may become."""
LONG_WIDTH = 100
"""Of a column that may be broken into lines."""
LONG_COLUMN = r"p{0.6\textwidth}"
PAGE_WIDTH = r"\ifdim\width>\textwidth\textwidth\else\width\fi"
"""How wide LaTeX makes a table: as wide as it is, or as the page where it is wider than that."""
_WIDE = Console(width=10_000)
# tabulate's own booktabs format escapes what it is given, \textbf too; this one leaves that to us.
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
"""Between words of a command, which LaTeX breaks at spaces alone; not within a number."""
_LATEX_SIGNS = {
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


def terminal(shown: Sequence[Listing], console: Console) -> None:
    """Prints the tables. One wider than the window is printed whole, for the window to wrap: no number is cut. One that
    has blocks is broken into them instead.
    """
    for each in shown:
        bold = "[bold]{}[/]".format if console.is_terminal else "**{}**".format
        grid = formatted(each, bold, escape=rich.markup.escape)
        window = console.width
        console.print(Text(each.title, style="bold"))
        for table in _broken(grid, console):
            needed = Measurement.get(console, console.options.update(max_width=10_000), table)
            # rich cuts what is wider than its console
            console.width = max(window, needed.maximum)
            console.print(table, no_wrap=not each.blocks)
            console.width = window
        for line in each.caption:
            console.print(Text(line), width=min(window, BROKEN_WIDTH if each.blocks else TEXT_WIDTH))
        console.print()


def _broken(grid: Listing, console: Console) -> list[RichTable]:
    """The table; its blocks where it has some and is too wide."""
    whole = _laid_out(grid, range(len(grid.header)))
    limit = console.width if console.is_terminal else min(console.width, BROKEN_WIDTH)
    needed = Measurement.get(console, console.options.update(max_width=10_000), whole).maximum
    if not grid.blocks or needed <= limit:
        return [whole]
    return [_laid_out(grid, [0, *block], limit) for block in grid.blocks]


def _laid_out(grid: Listing, places: Sequence[int], width: int | None = None) -> RichTable:
    """Some columns of a table; width: of a block, whose first column may be folded."""
    table = RichTable(box=box.SIMPLE_HEAD)
    for place in places:
        is_long = place in grid.long
        folds = is_long or (width is not None and place == 0)
        side = "right" if place in grid.right else "left"
        table.add_column(
            grid.header[place],
            justify=side,
            no_wrap=not folds,
            overflow="fold" if folds else "ellipsis",
            max_width=LONG_WIDTH if is_long else None,
        )
    for line in grid.body:
        table.add_row(*(line[place] for place in places))
    if width is not None:
        needed = Measurement.get(_WIDE, _WIDE.options, table).maximum
        first = max(len(line[0]) for line in [grid.header, *grid.body])
        # Only names are folded: where numbers alone are too wide, the window wraps them.
        table.width = max(min(width, needed), needed - max(first - LEAST_NAME, 0))
    return table


def text(shown: Sequence[Listing]) -> str:
    """The terminal text as a file holds it; `**` stands for bold."""
    file = io.StringIO()
    terminal(shown, Console(file=file, width=TEXT_WIDTH, force_terminal=False, color_system=None))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def markdown(shown: Sequence[Listing]) -> str:
    """GitHub's Markdown: a heading, the table, the caption."""
    parts = []
    for each in shown:
        grid = formatted(each, "**{}**".format, escape=lambda words: words.replace("|", r"\|"))
        sides = ["right" if place in grid.right else "left" for place in range(len(grid.header))]
        table = tabulate.tabulate(grid.body, grid.header, tablefmt="pipe", disable_numparse=True, colalign=sides)
        caption = "\n".join(f"- {line}" for line in each.caption)
        parts.append(f"### {each.title}\n\n{table}\n\n{caption}\n")
    return "\n".join(parts)


def latex(shown: Sequence[Listing]) -> str:
    """A table environment each, for the packages named above it; a wide table is made as narrow as the page."""
    parts = ["% \\usepackage{amssymb, booktabs, graphicx}\n"]
    for each in shown:
        grid = formatted(each, r"\textbf{{{}}}".format, escape=_latex_escape)
        table = tabulate.tabulate(grid.body, grid.header, tablefmt=_BOOKTABS, disable_numparse=True)
        caption = _WORDS.sub(r",\\allowbreak{}", " ".join(_latex_escape(line) for line in each.caption))
        narrow = ["r" if place in grid.right else "l" for place in range(len(grid.header))]
        sides = [LONG_COLUMN if place in grid.long else side for place, side in enumerate(narrow)]
        tabular = f"\\begin{{tabular}}{{{''.join(sides)}}}\n{table}\n\\end{{tabular}}"
        tabular = f"\\resizebox{{{PAGE_WIDTH}}}{{!}}{{{tabular}}}"
        caption = f"\\caption{{{_latex_escape(each.heading or each.title)}. {caption}}}"
        parts.append(f"\\begin{{table}}\n\\centering\n{caption}\n{tabular}\n\\end{{table}}\n")
    return "\n".join(parts)


def csv_text(shown: Sequence[Listing]) -> str:
    """One line a cell, every number in full: for programs. A cell without runs says what would fill it."""
    lines = [line for each in shown for line in each.lines]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(dict.fromkeys(name for line in lines for name in line)), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: guarded(cell) for name, cell in line.items()} for line in lines)
    return file.getvalue()


def _latex_escape(words: str) -> str:
    return "".join(_LATEX_SIGNS.get(sign) or tabulate.LATEX_ESCAPE_RULES.get(sign, sign) for sign in words)
