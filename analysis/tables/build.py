"""Rows of a store → tables. Runs of different settings never meet in one cell, selections never in one table.

Settings that belong to an activation split its row (`Leaky-ReLU (negative_slope=0.1)`); any other setting in which the
runs of a benchmark differ splits its column, since activations can be compared only where those agree.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.metrics import metric
from analysis.names import ACTIVATIONS, BENCHMARKS, display
from analysis.reported.reported import published
from analysis.rows import Row, key, varying
from analysis.statistics.hedges import hedges
from analysis.statistics.holm import holm
from analysis.statistics.paired import paired
from analysis.statistics.summaries import mean_sd
from analysis.statistics.welch import welch
from analysis.tables.caption import caption, data_line
from analysis.tables.table import Cell, Column, Result, RowHead, Table
from plasticity_lab.records.measures import Measure

DISPLAYED = {"activation": ACTIVATIONS, "benchmark": BENCHMARKS}
SELECTED_BY = ("benchmark", "protocol", "schedule", "hyperparams", "intervention")


def build(table: Table, rows: Sequence[Row], metric_name: str | None = None) -> list[Result]:
    """One result for each selection (protocol, schedule, hyperparams, intervention) that the rows hold.

    Where neither names a metric, for each headline as well that their agents name.
    """
    by = [name for name in SELECTED_BY if name not in (table.rows, table.columns)]
    selections: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        shown = metric_name or table.cell or row.declared.headline
        selections.setdefault((shown, *(getattr(row, name) for name in by)), []).append(row)
    return [
        _result(table, dict(zip(by, names, strict=True)), selections[shown, *names], shown)
        for shown, *names in sorted(selections)
    ]


def _result(table: Table, selection: Mapping[str, str], rows: Sequence[Row], metric_name: str) -> Result:
    declared = [row.declared for row in rows]
    shown, beside = metric(metric_name, declared), [metric(name, declared) for name in table.beside]
    paper = published(table.reported)
    has_reported = shown.name == table.cell and selection.get("intervention", "none") == "none"
    columns = _columns(table, rows, [name for name, _ in paper])
    telling = _telling(table, columns.values())
    heads = {_head(table, row, telling): row for row in rows}
    order = _order([name for _, name in paper])
    cells = {}
    for column, there in columns.items():
        runs: dict[RowHead, list[Row]] = {}
        for row in there:
            runs.setdefault(_head(table, row, telling), []).append(row)
        most = max(len({row.seeds for row in alike}) for alike in runs.values())
        drawn = {head: _cell(alike, shown, table.beside, most) for head, alike in runs.items()}
        for head, cell in (_judged(drawn, table.level, shown) if shown.better else drawn).items():
            value = paper.get((column.name, head.name)) if has_reported else None
            cells[head, column] = replace(cell, paper=value)
    result = Result(
        table=table,
        metric=shown,
        beside=beside,
        selection=selection,
        rows=sorted(heads, key=lambda head: (order(head.name), _values(heads[head].own, telling[head.name]))),
        columns=list(columns),
        cells=_corrected(cells),
        has_reported=has_reported,
        caption=(),
    )
    return replace(result, caption=caption(result))


def _columns(table: Table, rows: Sequence[Row], paper_order: Sequence[str]) -> dict[Column, list[Row]]:
    """The columns in the paper's order, others by name after them; each with its runs."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(getattr(row, table.columns), []).append(row)
    columns = {}
    for name in sorted(by_name, key=_order(paper_order)):
        differing = varying(row.study for row in by_name[name])
        by_study = _alike(by_name[name])
        for alike in sorted(by_study, key=lambda rows: _values(rows[0].study, differing)):
            words = _settings("benchmark.", alike[0].study, differing)
            column = Column(
                name=name,
                label=_label(table.columns, name, words),
                data=data_line(alike),
                recency=alike[0].study.get("benchmark.order") == "class_blocks",
            )
            columns[column] = alike
    return columns


def _alike(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows by what a fair comparison holds fixed."""
    studies = {id(row.study): row.study for row in rows}
    words = {which: key(study) for which, study in studies.items()}
    by_study: dict[str, list[Row]] = {}
    for row in rows:
        by_study.setdefault(words[id(row.study)], []).append(row)
    return list(by_study.values())


def _telling(table: Table, columns: Iterable[Sequence[Row]]) -> dict[str, list[str]]:
    """For each row name, the settings of its own in which runs of one column differ: they tell its rows apart."""
    telling: dict[str, set[str]] = {}
    for rows in columns:
        by_name: dict[str, list[Row]] = {}
        for row in rows:
            by_name.setdefault(getattr(row, table.rows), []).append(row)
        for name, alike in by_name.items():
            telling.setdefault(name, set()).update(varying(row.own for row in alike))
    return {name: sorted(settings) for name, settings in telling.items()}


def _head(table: Table, row: Row, telling: Mapping[str, Sequence[str]]) -> RowHead:
    name = getattr(row, table.rows)
    words = _settings("activation.", row.own, telling[name])
    return RowHead(name, words, _label(table.rows, name, words))


def _cell(runs: Sequence[Row], shown: Measure, beside: Sequence[str], most: int) -> Cell:
    replicates = _replicates(runs)
    finished = [row for row in replicates if row.status == "done" and row.summary.get(shown.name) is not None]
    values = [row.summary[shown.name] * shown.scale for row in finished]
    ours = mean_sd(values)
    cost = {name: [row.summary[name] for row in finished if row.summary.get(name) is not None] for name in beside}
    return Cell(
        mean=ours.mean,
        sd=ours.sd,
        n=len(values),
        # What plans name is what should be there; a store without them is measured by the fullest cell of the column.
        expected=len(replicates) if all(row.planned for row in replicates) else most,
        diverged=sum(row.status == "diverged" for row in replicates),
        failed=sum(row.status == "failed" for row in replicates),
        collapsed=sum(row.collapsed for row in finished),
        superseded=len(runs) - len(replicates),
        values=tuple(values),
        runs=tuple(row.run for row in finished),
        seeds=tuple(row.seeds for row in finished),
        beside={name: float(np.mean(of)) if of else None for name, of in cost.items()},
        own=runs[0].own,
        flagged=Counter(flag for row in finished for flag, is_so in row.flags.items() if is_so),
    )


def _replicates(runs: Sequence[Row]) -> list[Row]:
    """One run for each seed, in the order of seeds: where code that counts differently gave the same settings another
    run id, the run that ended last.
    """
    latest: dict[tuple[int, ...], Row] = {}
    for row in sorted(runs, key=lambda row: (row.status != "waiting", row.provenance.get("end") or "")):
        latest[tuple(-1 if seed is None else seed for seed in row.seeds)] = row
    return [latest[seeds] for seeds in sorted(latest)]


def _judged(cells: Mapping[RowHead, Cell], level: float, shown: Measure) -> dict[RowHead, Cell]:
    """The cells of a column with the best marked, and each complete one tested against the next best."""
    sign = 1 if shown.better == "less" else -1
    ranked = sorted((head for head in cells if cells[head].complete), key=lambda head: sign * cells[head].mean)
    judged = dict(cells)
    for place, head in enumerate(ranked):
        cell = replace(cells[head], best=cells[head].mean == cells[ranked[0]].mean)
        if place + 1 < len(ranked):
            after = ranked[place + 1]
            values = cell.values, cells[after].values
            test = welch(*values)
            cell = replace(
                cell,
                next=after.label,
                against_next=test,
                significant=cell.best and test.significant(level),
                effect=hedges(*values),
                paired=paired(*values) if cell.best and cell.seeds == cells[after].seeds else None,
            )
        judged[head] = cell
    return judged


def _corrected(cells: Mapping[tuple[RowHead, Column], Cell]) -> dict[tuple[RowHead, Column], Cell]:
    """The cells of a table with Holm's correction of the tests it is read for: each column's best against the next."""
    tested = [place for place, cell in cells.items() if cell.best and cell.against_next]
    corrected = holm([cells[place].against_next.p for place in tested])
    return {**cells, **{place: replace(cells[place], holm=p) for place, p in zip(tested, corrected, strict=True)}}


def _order(paper: Sequence[str]) -> Callable[[str], tuple[int, str]]:
    """A sort key: names that the paper has in its order, all others by name after them."""
    place = {name: index for index, name in enumerate(dict.fromkeys(paper))}
    return lambda name: (place.get(name, len(place)), name)


def _values(settings: Mapping[str, Any], names: Sequence[str]) -> list[tuple[bool, float, str]]:
    """A sort key of settings: numbers by size, then words."""
    values = [settings.get(name) for name in names]
    return [(False, value, "") if isinstance(value, int | float) else (True, 0.0, key(value)) for value in values]


def _settings(group: str, settings: Mapping[str, Any], names: Sequence[str]) -> str:
    """The named settings in words, without the prefix of the group they mostly come from."""
    words = {name.removeprefix(group): settings.get(name) for name in names}
    return ", ".join(f"{name}={'null' if value is None else value}" for name, value in words.items())


def _label(axis: str, name: str, settings: str) -> str:
    shown = display(DISPLAYED.get(axis, {}), name)
    return f"{shown} ({settings})" if settings else shown
