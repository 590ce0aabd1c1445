"""A result as terminal text, Markdown, CSV and LaTeX. The four show the same numbers; CSV has them in full."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Literal

import rich.markup
import tabulate
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from analysis.tables.table import Cell, Column, Result
from plasticity_lab.records.measures import Measure

TEXT_WIDTH = 160
"""The least width of text that goes to a pipe or a file, where nobody can make the window wider."""

_NOTHING = "–"
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
_LATEX_SIGNS = {"±": r"$\pm$", "≤": r"$\le$", "×": r"$\times$", "†": r"$^\dagger$", "–": "--"}


def terminal(results: Sequence[Result], console: Console) -> None:
    """Prints the tables. A table wider than the window is printed whole, for the window to wrap: no number is cut."""
    for result in results:
        bold = "[bold]{}[/]".format if console.is_terminal else "**{}**".format
        table = RichTable(box=box.SIMPLE_HEAD)
        header, body, align = grid(result, bold, escape=rich.markup.escape)
        for heading, side in zip(header, align, strict=True):
            table.add_column(heading, justify=side, no_wrap=True)
        for line in body:
            table.add_row(*line)
        window = console.width
        console.print(Text(title(result), style="bold"))
        needed = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
        console.width = max(window, needed)  # rich cuts what is wider than its console
        console.print(table, no_wrap=True)
        console.width = window
        for line in result.caption:
            console.print(Text(line), width=min(window, TEXT_WIDTH))
        console.print()


def text(results: Sequence[Result]) -> str:
    """The terminal text as a file holds it; `**` stands for bold."""
    file = io.StringIO()
    terminal(results, Console(file=file, width=TEXT_WIDTH, force_terminal=False, color_system=None))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def markdown(results: Sequence[Result]) -> str:
    """GitHub's Markdown: a heading, the table, the caption."""
    parts = []
    for result in results:
        header, body, align = grid(result, "**{}**".format, escape=lambda words: words.replace("|", r"\|"))
        table = tabulate.tabulate(body, header, tablefmt="pipe", disable_numparse=True, colalign=align)
        caption = "\n".join(f"- {line}" for line in result.caption)
        parts.append(f"### {title(result)}\n\n{table}\n\n{caption}\n")
    return "\n".join(parts)


def latex(results: Sequence[Result]) -> str:
    """A table environment a result, for the booktabs package; as in the paper without the cost of a run."""
    parts = ["% \\usepackage{booktabs}\n"]
    for result in results:
        header, body, align = grid(result, r"\textbf{{{}}}".format, escape=_latex_escape, cost=False)
        table = tabulate.tabulate(body, header, tablefmt=_BOOKTABS, disable_numparse=True)
        caption = " ".join(_latex_escape(line) for line in result.caption)
        parts.append(
            "\\begin{table}\n\\centering\n"
            f"\\caption{{{_latex_escape(result.table.title)}. {caption}}}\n"
            f"\\begin{{tabular}}{{{''.join(side[0] for side in align)}}}\n{table}\n\\end{{tabular}}\n\\end{{table}}\n"
        )
    return "\n".join(parts)


def csv_text(results: Sequence[Result]) -> str:
    """One line a cell, every number in full: for programs."""
    lines = [line for result in results for line in _cell_lines(result)]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(dict.fromkeys(name for line in lines for name in line)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()


def _cell_lines(result: Result) -> list[dict[str, object]]:
    return [
        {
            "table": result.table.name,
            "metric": result.metric.name,
            "unit": result.metric.unit,
            **result.selection,
            result.table.columns: column.name,
            "column": column.label,
            "data": column.data,
            result.table.rows: row.name,
            "row": row.label,
            "settings": json.dumps(cell.own, ensure_ascii=False, sort_keys=True),
            "mean": cell.mean,
            "sd": cell.sd,
            "n": cell.n,
            "expected": cell.expected,
            "diverged": cell.diverged,
            "failed": cell.failed,
            "collapsed": cell.collapsed,
            **cell.flagged,
            "paper_mean": cell.paper.mean if cell.paper else None,
            "paper_sd": cell.paper.sd if cell.paper else None,
            "best": cell.best,
            "significant": cell.significant,
            "next": cell.next,
            "t_against_next": cell.against_next.t if cell.against_next else None,
            "p_against_next": cell.against_next.p if cell.against_next else None,
            "no_p_because": cell.against_next.reason if cell.against_next else None,
            "df_against_next": cell.against_next.df if cell.against_next else None,
            "holm_p_against_next": cell.holm,
            "paired_p_against_next": cell.paired.p if cell.paired else None,
            "g_against_next": cell.effect.g if cell.effect else None,
            "g_low": cell.effect.low if cell.effect else None,
            "g_high": cell.effect.high if cell.effect else None,
            **cell.beside,
            "values": json.dumps(cell.values),
            "runs": " ".join(cell.runs),
        }
        for row in result.rows
        for column in result.columns
        if (cell := result.cells.get((row, column)))
    ]


def grid(
    result: Result, bold: Callable[[str], str], escape: Callable[[str], str], cost: bool = True
) -> tuple[list[str], list[list[str]], list[Literal["left", "right"]]]:
    """Headings and lines of cells, escaped for the format they go to, and how each column is aligned.

    Ours stands to the left, so that the numbers of a column line up whatever is noted behind them.
    """
    beside = result.beside if cost else ()
    header, align = [result.table.rows], ["left"]
    for column in result.columns:
        header += [column.label, *["paper"] * result.has_reported, *[measure.label for measure in beside]]
        align += ["left", *["right"] * (result.has_reported + len(beside))]
    body = []
    for row in result.rows:
        line = [escape(row.label)]
        for column in result.columns:
            line += _fields(result, column, result.cells.get((row, column)), bold, escape, beside)
        body.append(line)
    return [escape(heading) for heading in header], body, align


def _fields(
    result: Result,
    column: Column,
    cell: Cell | None,
    bold: Callable[[str], str],
    escape: Callable[[str], str],
    beside: Sequence[Measure],
) -> list[str]:
    """A cell and what stands beside it."""
    if cell is None:
        return [escape(_NOTHING)] * (1 + result.has_reported + len(beside))
    number = escape(_mean_sd(result.metric.number, cell.mean, cell.sd))
    ours = f"{bold(number) if cell.best else number}{escape('†' if cell.significant else '')}"
    fields = [" ".join(filter(None, [ours, escape(_notes(cell))]))]
    if result.has_reported:
        paper = cell.paper
        fields.append(escape(_mean_sd(result.metric.number, paper.mean, paper.sd) if paper else _NOTHING))
    for shown in beside:
        value = cell.beside[shown.name]
        fields.append(escape(_NOTHING if value is None else shown.number(value * shown.scale)))
    return fields


def _mean_sd(number: Callable[[float], str], mean: float | None, sd: float | None) -> str:
    if mean is None:
        return _NOTHING
    return number(mean) if sd is None else f"{number(mean)} ± {number(sd)}"


def _notes(cell: Cell) -> str:
    """What is missing or went wrong: `(4/5, 1 diverged, 1 collapsed)`."""
    counts = {"diverged": cell.diverged, "failed": cell.failed, "collapsed": cell.collapsed, **cell.flagged}
    notes = [] if cell.complete else [f"{cell.n}/{cell.expected}"]
    notes += [f"{count} {what}" for what, count in counts.items() if count]
    return f"({', '.join(notes)})" if notes else ""


def title(result: Result) -> str:
    """The table's name, what it shows, and of which runs."""
    names = [name for choice, name in result.selection.items() if (choice, name) != ("intervention", "none")]
    return f"{result.table.title}: {result.metric.title} ({', '.join(names)})"


def _latex_escape(words: str) -> str:
    return "".join(_LATEX_SIGNS.get(sign) or tabulate.LATEX_ESCAPE_RULES.get(sign, sign) for sign in words)
