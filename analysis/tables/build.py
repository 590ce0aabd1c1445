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
from analysis.names import NAMES, display
from analysis.outcomes import some_tasks, why_without
from analysis.rows import Row, key, varying
from analysis.setting_words import telling, word, words_of
from analysis.statistics.method import shared
from analysis.statistics.summaries import mean_sd
from analysis.statistics.welch import Welch
from analysis.tables.caption import data_line
from analysis.tables.cautions import cautions_of
from analysis.tables.judge import corrected, judged
from analysis.tables.made_by import mixed
from analysis.tables.missing import fill
from analysis.tables.paper import paper_values, unlike_paper
from analysis.tables.result import Cell, Heading, Place, Result
from analysis.tables.table import Table
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.measures import Measure

SELECTED_BY = ("benchmark", "protocol", "schedule", "hyperparams", "intervention")


def build(table: Table[Result], rows: Sequence[Row], metric_name: str | None = None) -> list[Result]:
    """One result for each selection (protocol, schedule, hyperparams, intervention) that the rows hold.

    Where neither names a metric, for each headline as well that their agents name; for each of the table's own where it
    has several. Rows that the table is not about are left out; without any, there is one result of the paper's values.
    """
    by = [name for name in SELECTED_BY if name not in (table.rows, table.columns)]
    selections: dict[tuple[str, ...], list[Row]] = {}
    for row in table.about(rows):
        for name in [metric_name] if metric_name else [table.cell or row.declared.headline, *table.also]:
            selections.setdefault((name, *(getattr(row, group) for group in by)), []).append(row)
    if not selections and table.cell:
        return [_result(table, {}, [], name) for name in ([metric_name] if metric_name else [table.cell, *table.also])]
    places = {name: place for place, name in enumerate((table.cell, *table.also))}
    results = []
    for name, *options in sorted(selections, key=lambda selected: (places.get(selected[0], -1), selected)):
        selection = dict(zip(by, options, strict=True))
        results.append(_result(table, selection, selections[name, *options], name))
    return results


def _result(table: Table[Result], selection: Mapping[str, str], rows: Sequence[Row], metric_name: str) -> Result:
    """One metric and one selection of runs as a table; without runs, it has the paper's values."""
    declared = [row.declared for row in rows] or [CLASSIFIER.declared]
    shown, beside = metric(metric_name, declared), [metric(name, declared) for name in table.beside]
    paper = paper_values(table).get(shown.name, {})
    if selection.get("intervention", "none") != "none":
        paper = {}
    columns, headings = _axes(table, rows, paper)
    cells, tests = _cells(table, columns, shown, paper)
    return Result(
        table=table,
        runs=rows,
        metric=shown,
        beside=beside,
        selection=selection,
        rows=headings,
        columns=list(columns),
        cells=cells,
        has_reported=bool(paper),
        paper=paper,
        fill=fill(table, selection, headings, list(columns), cells),
        tests=tests,
        above=_above(table, cells),
    )


def _axes(
    table: Table[Result], rows: Sequence[Row], paper: Mapping[tuple[str, str], Any]
) -> tuple[dict[Heading, list[Row]], list[Heading]]:
    """The columns, each with its runs, and the headings of the lines in their order."""
    order = _order(table.only.get(table.rows) or [name for name, _ in paper])
    if not rows:
        return _papers_columns(table, paper), sorted(_papers_heads(table, paper), key=lambda head: order(head.name))
    columns = _columns(table, rows, table.only.get(table.columns) or [name for _, name in paper])
    differing = _telling(table, columns.values())
    heading_of = _heads(table, differing)
    row_of = {heading_of(row): row for row in rows}
    return columns, sorted(row_of, key=lambda head: (order(head.name), _values(row_of[head].own, differing[head.name])))


def _cells(
    table: Table[Result],
    columns: Mapping[Heading, Sequence[Row]],
    shown: Measure,
    paper: Mapping[tuple[str, str], Any],
) -> tuple[dict[Place, Cell], int]:
    """The cells of all columns, judged and corrected, and the number of tests that have a p."""
    heading_of = _heads(table, _telling(table, columns.values()))
    effect = shared(row.methods for rows in columns.values() for row in rows)["effect"]
    cells: dict[Place, Cell] = {}
    tests: dict[Place, list[Welch]] = {}
    for column, rows in columns.items():
        replicates: dict[Heading, list[Row]] = {}
        for row in rows:
            replicates.setdefault(heading_of(row), []).append(row)
        most = max((len({row.seeds for row in runs}) for runs in replicates.values()), default=0)
        of_column: dict[Heading, Cell] = {}
        for heading, runs in replicates.items():
            cell = cell_of(runs, shown, table.beside, most)
            of_column[heading] = replace(cell, paper=paper.get((heading.name, column.name)))
        of_column, tests_of_column = judged(of_column, table, shown, effect)
        for heading, cell in of_column.items():
            cells[heading, column] = cell
        for heading, welch_tests in tests_of_column.items():
            tests[heading, column] = welch_tests
    return corrected(cells, tests), sum(test.p is not None for of_best in tests.values() for test in of_best)


def _above(table: Table[Result], cells: Mapping[Place, Cell]) -> dict[Place, float]:
    """By how much each cell is above its row's in the reference column that has the same settings otherwise."""
    references = {
        (row.label, column.settings): cell.mean
        for (row, column), cell in cells.items()
        if column.name == table.reference
    }
    above = {}
    for (row, column), cell in cells.items():
        reference = references.get((row.label, column.settings))
        if column.name != table.reference and reference is not None and cell.mean is not None:
            above[row, column] = cell.mean - reference
    return above


def _papers_columns(table: Table[Result], paper: Mapping[tuple[str, str], Any]) -> dict[Heading, list[Row]]:
    """The columns of a table without runs: those that the paper has, or that it is declared to have."""
    names = table.only.get(table.columns) or dict.fromkeys(name for _, name in paper)
    return {Heading(name, _label(table.columns, name, "")): [] for name in names}


def _papers_heads(table: Table[Result], paper: Mapping[tuple[str, str], Any]) -> dict[Heading, None]:
    names = table.only.get(table.rows) or dict.fromkeys(name for name, _ in paper)
    return {Heading(name, _label(table.rows, name, "")): None for name in names}


def _columns(table: Table[Result], rows: Sequence[Row], in_order: Sequence[str]) -> dict[Heading, list[Row]]:
    """The columns in the table's order or the paper's, others by name after them; each with its runs."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(getattr(row, table.columns), []).append(row)
    columns = {}
    for name in sorted(by_name, key=_order(in_order)):
        differing = varying(row.study for row in by_name[name])
        shown = telling(row.study for row in by_name[name])
        by_study = _alike(by_name[name])
        for alike in sorted(by_study, key=lambda rows: _values(rows[0].study, differing)):
            study = alike[0].study
            column = Heading(
                name=name,
                label=_label(table.columns, name, words_of(study, shown)),
                data=data_line(alike),
                cautions=cautions_of(study),
                settings=tuple(f"{setting}={word(study.get(setting))}" for setting in differing),
                seeds=tuple(sorted({row.seeds[0] for row in alike if row.seeds[0] is not None})),
                unlike=tuple(unlike_paper(alike[0].benchmark, study)),
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


def _telling(table: Table[Result], columns: Iterable[Sequence[Row]]) -> dict[str, list[str]]:
    """For each row name, the settings of its own in which runs of one column differ: they tell its rows apart."""
    telling: dict[str, set[str]] = {}
    for rows in columns:
        by_name: dict[str, list[Row]] = {}
        for row in rows:
            by_name.setdefault(getattr(row, table.rows), []).append(row)
        for name, alike in by_name.items():
            telling.setdefault(name, set()).update(varying(row.own for row in alike))
    return {name: sorted(settings) for name, settings in telling.items()}


def _heads(table: Table[Result], differing: Mapping[str, Sequence[str]]) -> Callable[[Row], Heading]:
    """Row → the heading of its line; made once for the rows that share their settings."""
    known: dict[tuple[str, int], Heading] = {}

    def head(row: Row) -> Heading:
        name = getattr(row, table.rows)
        same = (name, id(row.own))
        if same not in known:
            own = tuple(f"{setting}={word(row.own[setting])}" for setting in differing[name] if setting in row.own)
            known[same] = Heading(name, _label(table.rows, name, words_of(row.own, differing[name])), own)
        return known[same]

    return head


def cell_of(runs: Sequence[Row], shown: Measure, beside: Sequence[str], most: int) -> Cell:
    """The runs of one setting; most: how many there should be, where no plan says it."""
    replicates = _replicates(runs)
    why = Counter(why_without(row.status, row.summary, shown.name) for row in replicates)
    finished = [row for row in replicates if why_without(row.status, row.summary, shown.name) is None]
    values = [row.summary[shown.name] * shown.scale for row in finished]
    ours = mean_sd(values)
    cost = {name: [row.summary[name] for row in finished if row.summary.get(name) is not None] for name in beside}
    return Cell(
        mean=ours.mean,
        sd=ours.sd,
        n=len(values),
        # What plans name is what should be there; a store without them is measured by the fullest cell of the column.
        expected=len(replicates) if all(row.planned for row in replicates) else most,
        diverged=why["diverged"],
        failed=why["failed"],
        collapsed=sum(row.collapsed for row in finished),
        waiting=why["waiting"],
        superseded=len(runs) - len(replicates),
        values=tuple(values),
        runs=tuple(row.run for row in finished),
        seeds=tuple(row.seeds for row in finished),
        beside={name: float(np.mean(of)) if of else None for name, of in cost.items()},
        own=runs[0].own,
        mixed=mixed(finished),
        done=tuple(row.run for row in replicates if row.status == "done"),
        no_episode=why["no_episode"],
        no_value=why["no_value"],
        stopped=why["stopped"],
        some_tasks=tuple(each for row in finished if (each := some_tasks(row.summary))),
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


def _order(paper: Sequence[str]) -> Callable[[str], tuple[int, str]]:
    """A sort key: names that the paper has in its order, all others by name after them."""
    place = {name: index for index, name in enumerate(dict.fromkeys(paper))}
    return lambda name: (place.get(name, len(place)), name)


def _values(settings: Mapping[str, Any], names: Sequence[str]) -> list[tuple[bool, float, str]]:
    """A sort key of settings: numbers by size, then words."""
    values = [settings.get(name) for name in names]
    return [(False, value, "") if isinstance(value, int | float) else (True, 0.0, key(value)) for value in values]


def _label(axis: str, name: str, settings: str) -> str:
    shown = display(NAMES.get(axis, {}), name)
    return f"{shown} ({settings})" if settings else shown
