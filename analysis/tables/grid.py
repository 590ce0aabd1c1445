"""A table of means as words, and as lines of values for programs."""

import json
from collections.abc import Callable

from analysis.outcomes import over_tasks
from analysis.tables.listing import NOTHING, Listing, signed
from analysis.tables.result import Cell, Heading, Result
from analysis.tables.table import Table
from plasticity_lab.records.measures import Measure

ABOVE = "above ref."
"""The heading of what a cell has more than the reference column of its row."""


def grid(table: Table[Result], result: Result) -> Listing:
    """The table, each column with what stands beside it. Ours to the left, so that numbers line up before notes."""
    header, right = [table.rows], set()
    for column in result.columns:
        beside = _beside(result, column)
        header += [column.label, *beside]
        right |= set(range(len(header) - len(beside), len(header)))
    body, bold, notes = [], set(), {}
    for row in result.rows:
        cells = [row.label]
        for column in result.columns:
            cell, place = result.cells.get((row, column)), (len(body), len(cells))
            if cell and (cell.best or cell.alike):
                bold.add(place)
            if cell and (said := _notes(cell)):
                notes[place] = said
            cells += _fields(result, row, column)
        body.append(cells)
    return Listing(
        name=table.name,
        title=result.title,
        header=header,
        body=body,
        lines=_cell_lines(result),
        right=frozenset(right),
        bold=frozenset(bold),
        notes=notes,
        heading=table.title,
        is_ours=bool(result.cells),
    )


def _cell_lines(result: Result) -> list[dict[str, object]]:
    """One line for each pair of row and column, column of a CSV → value, every number in full."""
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
            **_cell_line(result, row, column, result.cells.get((row, column))),
        }
        for row in result.rows
        for column in result.columns
    ]


def _cell_line(result: Result, row: Heading, column: Heading, cell: Cell | None) -> dict[str, object]:
    paper = result.paper.get((row.name, column.name))
    printed = {"paper_mean": paper.mean if paper else None, "paper_sd": paper.sd if paper else None}
    if cell is None:
        return {**printed, "missing": result.fill.get((row, column))}
    difference = _difference(result, column, cell)
    return {
        "settings": json.dumps(cell.own, ensure_ascii=False, sort_keys=True),
        "mean": cell.mean,
        "sd": cell.sd,
        "n": cell.n,
        "expected": cell.expected,
        "waiting": cell.waiting,
        "diverged": cell.diverged,
        "failed": cell.failed,
        **({"stopped": cell.stopped} if cell.stopped else {}),
        "collapsed": cell.collapsed,
        **cell.flagged,
        **_without(cell),
        **printed,
        "difference": difference,
        **({f"above_{result.table.reference}": result.above.get((row, column))} if result.table.reference else {}),
        "paper_unlike": "; ".join(column.unlike) if paper else None,
        "best": cell.best,
        "not_told_from_best": cell.alike,
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
        "mixed": json.dumps(cell.mixed) if cell.mixed else None,
        "values": json.dumps(cell.values),
        "seeds": json.dumps([seeds[0] for seeds in cell.seeds]),
        "runs": " ".join(cell.runs),
        "missing": None,
    }


def _without(cell: Cell) -> dict[str, object]:
    """What finished runs lack, where they lack something."""
    said = {"no_episode": cell.no_episode, "no_value": cell.no_value}
    of_tasks = over_tasks(cell.some_tasks) if cell.some_tasks else None
    return {name: value for name, value in {**said, "over_tasks": of_tasks}.items() if value}


def _beside(result: Result, column: Heading) -> list[str]:
    """The headings of what stands beside a column's cells."""
    differs = ["diff"] if _is_compared(result, column) else []
    above = [ABOVE] if _has_reference(result, column) else []
    return [*["paper"] * result.has_reported, *differs, *above, *(each.label for each in _shown_beside(result, column))]


def _shown_beside(result: Result, column: Heading) -> list[Measure]:
    """Those of what stands beside cells that a cell of the column has."""
    cells = [cell for (_, of), cell in result.cells.items() if of == column]
    return [each for each in result.beside if any(cell.beside.get(each.name) is not None for cell in cells)]


def _has_reference(result: Result, column: Heading) -> bool:
    """Whether a cell of the column can be compared with the reference column."""
    return any(of == column for _, of in result.above)


def _is_compared(result: Result, column: Heading) -> bool:
    """Whether the paper's numbers stand beside runs of its own protocol."""
    return bool(result.cells) and not column.unlike and any(name == column.name for _, name in result.paper)


def _difference(result: Result, column: Heading, cell: Cell) -> float | None:
    if cell.mean is None or cell.paper is None or not _is_compared(result, column):
        return None
    return cell.mean - cell.paper.mean


def _fields(result: Result, row: Heading, column: Heading) -> list[str]:
    """A cell and what stands beside it."""
    cell, number = result.cells.get((row, column)), result.metric.number
    fields = [_mean_sd(number, cell.mean, cell.sd) if cell else NOTHING]
    if result.has_reported:
        paper = result.paper.get((row.name, column.name))
        mark = "‡" if column.unlike else ""
        fields.append(f"{_mean_sd(number, paper.mean, paper.sd)}{mark}" if paper else NOTHING)
    if _is_compared(result, column):
        difference = _difference(result, column, cell) if cell else None
        fields.append(NOTHING if difference is None else signed(difference, result.metric.places))
    if _has_reference(result, column):
        above = result.above.get((row, column))
        fields.append(NOTHING if above is None else signed(above, result.metric.places))
    for shown in _shown_beside(result, column):
        value = cell.beside[shown.name] if cell else None
        fields.append(NOTHING if value is None else shown.number(value * shown.scale))
    return fields


def _mean_sd(number: Callable[[float], str], mean: float | None, sd: float | None) -> str:
    if mean is None:
        return NOTHING
    return number(mean) if sd is None else f"{number(mean)} ± {number(sd)}"


def _notes(cell: Cell) -> str:
    """Behind a mean: † where it is significant; what is missing or went wrong, as ` (4/5, 1 diverged)`."""
    counts = {"diverged": cell.diverged, "failed": cell.failed, "stopped early": cell.stopped}
    counts |= {"collapsed": cell.collapsed, **cell.flagged}
    notes = [] if cell.complete else [f"{cell.n}/{cell.expected}"]
    notes += [f"{count} {what}" for what, count in counts.items() if count]
    notes += [f"no episode ended in {cell.no_episode}"] * bool(cell.no_episode)
    notes += [f"{cell.no_value} without a value"] * bool(cell.no_value)
    notes += [f"over {over_tasks(cell.some_tasks)} tasks"] if cell.some_tasks else []
    return "†" * cell.significant + (f" ({', '.join(notes)})" if notes else "")
