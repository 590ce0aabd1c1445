"""Tables of means over seeds: one cell for each activation on each benchmark, or with each intervention."""

import json
from collections.abc import Callable
from functools import partial

from analysis.outcomes import over_tasks
from analysis.tables.build import build
from analysis.tables.caption import caption
from analysis.tables.listing import NOTHING, Listing, fields, signed, with_sd
from analysis.tables.missing import training_command
from analysis.tables.result import Cell, Heading, Result
from analysis.tables.table import Table, measured

ABOVE = "above ref."
"""The heading of the differences from the reference column."""
Words = Callable[[Heading], str]
"""The heading of a row → the words of one of its cells."""


def grid(table: Table[Result], result: Result) -> Listing:
    """The table as words. Our numbers are to the left of the paper's, so that they line up before their notes."""
    header, right, sides = [table.rows], set(), {}
    for column in result.columns:
        sides[column] = _sides(result, column)
        header += [column.label, *(heading for heading, _ in sides[column])]
        right |= set(range(len(header) - len(sides[column]), len(header)))
    body, bold, notes = [], set(), {}
    for row in result.rows:
        cells = [row.label]
        for column in result.columns:
            cell, place = result.cells.get((row, column)), (len(body), len(cells))
            if cell and (cell.best or cell.alike):
                bold.add(place)
            if cell and (words := _notes(cell)):
                notes[place] = words
            cells.append(with_sd(result.metric.number, cell.mean, cell.sd) if cell else NOTHING)
            cells += [words_of(row) for _, words_of in sides[column]]
        body.append(cells)
    return Listing(
        name=table.name,
        title=result.title,
        header=header,
        body=body,
        lines=[_line(result, row, column) for row in result.rows for column in result.columns],
        right=frozenset(right),
        bold=frozenset(bold),
        notes=notes,
        heading=table.title,
        is_ours=bool(result.cells),
    )


def _sides(result: Result, column: Heading) -> list[tuple[str, Words]]:
    """The columns to the right of a column's cells: heading, and a function from a row to its words."""
    cells = {row: result.cells[row, column] for row in result.rows if (row, column) in result.cells}

    def paper(row: Heading) -> str:
        value, mark = result.paper.get((row.name, column.name)), "‡" if column.unlike else ""
        return f"{with_sd(result.metric.number, value.mean, value.sd)}{mark}" if value else NOTHING

    def difference(value: float | None) -> str:
        return NOTHING if value is None else signed(value, result.metric.places)

    sides: list[tuple[str, Words]] = [("paper", paper)] if result.paper else []
    if _is_compared(result, column):
        sides.append(("diff", lambda row: difference(_difference(result, row, column))))
    if any(place[1] == column for place in result.above):
        sides.append((ABOVE, lambda row: difference(result.above.get((row, column)))))
    for measure in result.beside:
        values = {row: cell.beside[measure.name] for row, cell in cells.items()}
        shown = {row: measure.number(value * measure.scale) for row, value in values.items() if value is not None}
        if shown:
            sides.append((measure.label, lambda row, shown=shown: shown.get(row, NOTHING)))
    return sides


def _is_compared(result: Result, column: Heading) -> bool:
    """Whether the paper has numbers for the column, and our runs follow its protocol."""
    return bool(result.cells) and not column.unlike and any(name == column.name for _, name in result.paper)


def _difference(result: Result, row: Heading, column: Heading) -> float | None:
    """Our mean minus the paper's mean; None if the two cannot be compared."""
    cell = result.cells.get((row, column))
    if cell is None or cell.mean is None or cell.paper is None or not _is_compared(result, column):
        return None
    return cell.mean - cell.paper.mean


def _line(result: Result, row: Heading, column: Heading) -> dict[str, object]:
    """The CSV line of a row and a column, with every number in full precision."""
    table, cell, paper = result.table, result.cells.get((row, column)), result.paper.get((row.name, column.name))
    line = {
        "table": table.name,
        "metric": result.metric.name,
        "unit": result.metric.unit,
        **result.selection,
        table.columns: column.name,
        "column": column.label,
        "data": column.data,
        table.rows: row.name,
        "row": row.label,
    }
    printed = {f"paper_{name}": value for name, value in fields(paper, "mean", "sd").items()}
    if cell is None:
        command = training_command(table, result.selection, [row.name], [column.name], column, row.settings)
        return {**line, **printed, "missing": command}
    compared = {**printed, "difference": _difference(result, row, column)}
    if table.reference:
        compared[f"above_{table.reference}"] = result.above.get((row, column))
    compared["paper_unlike"] = "; ".join(column.unlike) if paper else None
    return {
        **line,
        "settings": json.dumps(cell.own, ensure_ascii=False, sort_keys=True),
        **fields(cell, "mean", "sd", "n", "expected", "waiting", "diverged", "failed"),
        **({"stopped": cell.stopped} if cell.stopped else {}),
        "collapsed": cell.collapsed,
        **cell.flagged,
        **_without_value(cell),
        **compared,
        **_judgement(cell),
        **cell.beside,
        "mixed": json.dumps(cell.mixed) if cell.mixed else None,
        "values": json.dumps(cell.values),
        "seeds": json.dumps([seeds[0] for seeds in cell.seeds]),
        "runs": " ".join(cell.runs),
        "missing": None,
    }


def _without_value(cell: Cell) -> dict[str, object]:
    """The numbers of done runs without a value or some tasks, in columns that only tables with such runs have."""
    over = over_tasks(cell.some_tasks) if cell.some_tasks else None
    lacking = {**fields(cell, "no_episode", "no_value"), "over_tasks": over}
    return {name: value for name, value in lacking.items() if value}


def _judgement(cell: Cell) -> dict[str, object]:
    """The comparison of a cell with the other cells of its column, as CSV columns."""
    test, effect = fields(cell.against_next, "t", "p", "reason", "df"), fields(cell.effect, "g", "low", "high")
    return {
        "best": cell.best,
        "not_told_from_best": cell.alike,
        "significant": cell.significant,
        "next": cell.next,
        "t_against_next": test["t"],
        "p_against_next": test["p"],
        "no_p_because": test["reason"],
        "df_against_next": test["df"],
        "holm_p_against_next": cell.holm,
        "paired_p_against_next": cell.paired.p if cell.paired else None,
        "g_against_next": effect["g"],
        "g_low": effect["low"],
        "g_high": effect["high"],
    }


def _notes(cell: Cell) -> str:
    """The words after a mean: † if it is significant; missing runs and failures, such as ` (4/5, 1 diverged)`."""
    counts = {"diverged": cell.diverged, "failed": cell.failed, "stopped early": cell.stopped}
    counts |= {"collapsed": cell.collapsed, **cell.flagged}
    notes = [] if cell.complete else [f"{cell.n}/{cell.expected}"]
    notes += [f"{count} {what}" for what, count in counts.items() if count]
    notes += [f"no episode ended in {cell.no_episode}"] * bool(cell.no_episode)
    notes += [f"{cell.no_value} without a value"] * bool(cell.no_value)
    notes += [f"over {over_tasks(cell.some_tasks)} tasks"] if cell.some_tasks else []
    return "†" * cell.significant + (f" ({', '.join(notes)})" if notes else "")


means = partial(Table, build=build, render=grid, caption=caption, measured=measured)
"""A table with the means of the metric `cell` in its cells, next to the paper's values.

The paper's values are values of `cell`, or of the metric in a line's `metric_read_as`. They belong to runs without an
intervention, unless interventions are the columns. If `cell` is None, there is one table for each agent's main metric.
"""
