"""Builds tables of means from the rows of a store.

Runs of different settings never share a cell; different selections never share a table. Settings that belong to an
activation split its row (`Leaky-ReLU (negative_slope=0.1)`). Any other setting that differs between the runs of a
benchmark splits its column, because activations can be compared only at the same settings.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from analysis.names import NAMES, display, metric
from analysis.outcomes import some_tasks, why_without
from analysis.rows import Row, grouped, key, varying
from analysis.setting_words import telling, word, words_of
from analysis.statistics.method import shared
from analysis.statistics.summaries import mean_sd
from analysis.statistics.two_groups import Welch
from analysis.tables.caption import cautions_of, data_line
from analysis.tables.made_by import mixed
from analysis.tables.paper import Values, paper_values, unlike_paper
from analysis.tables.result import Cell, Heading, Place, Result, corrected, judged
from analysis.tables.table import Table
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.measures import Measure

SELECTED_BY = ("benchmark", "protocol", "schedule", "hyperparams", "intervention")


def build(table: Table[Result], rows: Sequence[Row], metric_name: str | None = None) -> list[Result]:
    """One result for each metric and each selection (protocol, schedule, hyperparams, intervention) among the rows.

    The metric is the requested one. Without a request, the table declares the metrics; if it declares no metric, they
    are the main metrics of the agents. Rows that `table.only` excludes are left out. If no row is left, each metric has
    one result, with the paper's values.
    """
    groups = [name for name in SELECTED_BY if name not in (table.rows, table.columns)]
    selections: dict[tuple[str, ...], list[Row]] = {}
    options_of = attrgetter(*groups)
    for row in table.about(rows):
        options = options_of(row)
        for name in [metric_name] if metric_name else [table.cell or row.declared.headline, *table.also]:
            selections.setdefault((name, *options), []).append(row)
    if not selections and table.cell:
        return [_result(table, {}, [], name) for name in ([metric_name] if metric_name else [table.cell, *table.also])]
    order = {name: place for place, name in enumerate((table.cell, *table.also))}

    def place(selected: tuple[str, ...]) -> tuple[int, list[str]]:
        return order.get(selected[0], -1), ["" if name == "none" else name for name in selected]  # none is first

    return [
        _result(table, dict(zip(groups, options, strict=True)), selections[name, *options], name)
        for name, *options in sorted(selections, key=place)
    ]


def _result(table: Table[Result], selection: Mapping[str, str], rows: Sequence[Row], metric_name: str) -> Result:
    """One metric and one selection of runs as a table; without runs, it has only the paper's values."""
    declared = [row.declared for row in rows] or [CLASSIFIER.declared]
    shown, beside = metric(metric_name, declared), [metric(name, declared) for name in table.beside]
    has_interventions = selection.get("intervention", "none") != "none"
    paper = {} if has_interventions else paper_values(table).get(shown.name, {})
    row_names = table.only.get(table.rows) or [row for row, _ in paper]
    column_names = table.only.get(table.columns) or [column for _, column in paper]
    if rows:
        columns = _columns(table, rows, column_names)
        heading_of, headings = _row_headings(table, list(columns.values()), row_names)
        cells, tests = _cells(table, columns, heading_of, shown, paper)
    else:
        columns = {Heading(name, _label(table.columns, name, "")): [] for name in column_names}
        headings = [Heading(name, _label(table.rows, name, "")) for name in dict.fromkeys(row_names)]
        cells, tests = {}, 0
    return Result(
        table=table,
        runs=rows,
        metric=shown,
        beside=beside,
        selection=selection,
        rows=headings,
        columns=list(columns),
        cells=cells,
        paper=paper,
        tests=tests,
        above=_above(table, cells),
    )


def _columns(table: Table[Result], rows: Sequence[Row], in_order: Sequence[str]) -> dict[Heading, list[Row]]:
    """Column → its runs: first the columns named in `in_order`, in that order, then the others by name."""
    by_name = grouped(rows, attrgetter(table.columns))
    columns = {}
    for name in sorted(by_name, key=_order(in_order)):
        studies = {id(row.study): row.study for row in by_name[name]}
        differing, shown = varying(studies.values()), telling(studies.values())
        words = {place: key(study) for place, study in studies.items()}
        by_study = grouped(by_name[name], lambda row, words=words: words[id(row.study)])
        for runs in sorted(by_study.values(), key=lambda runs: _values(runs[0].study, differing)):
            study = runs[0].study
            column = Heading(
                name=name,
                label=_label(table.columns, name, words_of(study, shown)),
                data=data_line(runs),
                cautions=cautions_of(study),
                settings=tuple(f"{setting}={word(study.get(setting))}" for setting in differing),
                seeds=tuple(sorted({row.seeds[0] for row in runs if row.seeds[0] is not None})),
                unlike=tuple(unlike_paper(runs[0].benchmark, study)),
            )
            columns[column] = runs
    return columns


def _row_headings(
    table: Table[Result], columns: Sequence[Sequence[Row]], in_order: Sequence[str]
) -> tuple[Callable[[Row], Heading], list[Heading]]:
    """A function from a row to the heading of its line, and all headings in their order.

    Runs of one name get separate lines if their `own` settings differ within a column.
    """
    differing: dict[str, set[str]] = {}
    for rows in columns:
        for name, runs in grouped(rows, attrgetter(table.rows)).items():
            differing.setdefault(name, set()).update(varying(row.own for row in runs))
    headings: dict[tuple[str, int], Heading] = {}
    own_of: dict[Heading, Mapping[str, Any]] = {}
    for row in (row for rows in columns for row in rows):
        name = getattr(row, table.rows)
        if (name, id(row.own)) not in headings:
            settings = sorted(differing[name])
            own = tuple(f"{setting}={word(row.own[setting])}" for setting in settings if setting in row.own)
            heading = Heading(name, _label(table.rows, name, words_of(row.own, settings)), own)
            headings[name, id(row.own)] = heading
            own_of[heading] = row.own
    order = _order(in_order)
    ordered = sorted(
        own_of, key=lambda heading: (order(heading.name), _values(own_of[heading], sorted(differing[heading.name])))
    )
    return lambda row: headings[getattr(row, table.rows), id(row.own)], ordered


def _cells(
    table: Table[Result],
    columns: Mapping[Heading, Sequence[Row]],
    heading_of: Callable[[Row], Heading],
    shown: Measure,
    paper: Values,
) -> tuple[dict[Place, Cell], int]:
    """The cells of all columns, compared and with corrected p-values, and the number of tests with a p-value."""
    effect = shared(row.methods for rows in columns.values() for row in rows)["effect"]
    cells: dict[Place, Cell] = {}
    tests: dict[Place, list[Welch]] = {}
    for column, rows in columns.items():
        replicates: dict[Heading, list[Row]] = {}
        for runs in grouped(rows, lambda row: (getattr(row, table.rows), id(row.own))).values():
            replicates.setdefault(heading_of(runs[0]), []).extend(runs)
        most = max(len({row.seeds for row in runs}) for runs in replicates.values())
        of_column: dict[Heading, Cell] = {}
        for heading, runs in replicates.items():
            cell = cell_of(runs, shown, table.beside, most)
            of_column[heading] = replace(cell, paper=paper.get((heading.name, column.name)))
        of_column, tests_of_best = judged(of_column, table, shown, effect)
        cells |= {(heading, column): cell for heading, cell in of_column.items()}
        tests |= {(heading, column): welch_tests for heading, welch_tests in tests_of_best.items()}
    return corrected(cells, tests), sum(test.p is not None for welch_tests in tests.values() for test in welch_tests)


def _above(table: Table[Result], cells: Mapping[Place, Cell]) -> dict[Place, float]:
    """Each mean minus the mean of its row in the reference column with the same settings."""
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


def cell_of(runs: Sequence[Row], shown: Measure, beside: Sequence[str], most: int) -> Cell:
    """The cell of the runs of one setting.  most: the expected number of runs, used if not all runs are planned."""
    replicates = _replicates(runs)
    why_of = {row.run: why_without(row.status, row.summary, shown.name) for row in replicates}
    why = Counter(why_of.values())
    finished = [row for row in replicates if why_of[row.run] is None]
    values = [row.summary[shown.name] * shown.scale for row in finished]
    ours = mean_sd(values)
    costs = {name: [row.summary[name] for row in finished if row.summary.get(name) is not None] for name in beside}
    return Cell(
        mean=ours.mean,
        sd=ours.sd,
        n=len(values),
        # Plans name the expected runs; without plans, the expected number is the largest number in the column's cells.
        expected=len(replicates) if all(row.planned for row in replicates) else most,
        diverged=why["diverged"],
        failed=why["failed"],
        collapsed=sum(row.collapsed for row in finished),
        waiting=why["waiting"],
        superseded=len(runs) - len(replicates),
        values=tuple(values),
        runs=tuple(row.run for row in finished),
        seeds=tuple(row.seeds for row in finished),
        beside={name: float(np.mean(numbers)) if numbers else None for name, numbers in costs.items()},
        own=runs[0].own,
        mixed=mixed(finished),
        done=tuple(row.run for row in replicates if row.status == "done"),
        no_episode=why["no_episode"],
        no_value=why["no_value"],
        stopped=why["stopped"],
        some_tasks=tuple(tasks for row in finished if (tasks := some_tasks(row.summary))),
        flagged=Counter(flag for row in finished for flag, is_so in row.flags.items() if is_so),
    )


def _replicates(runs: Sequence[Row]) -> list[Row]:
    """One run for each seed, in the order of seeds.

    If runs with several ids have the same settings and seed, the run that ended last is kept.
    """
    latest: dict[tuple[int | None, ...], Row] = {}
    for row in runs:
        other = latest.setdefault(row.seeds, row)
        if other is not row and _ended(row) >= _ended(other):
            latest[row.seeds] = row
    return sorted(latest.values(), key=lambda row: row.replicate)


def _ended(row: Row) -> tuple[bool, str]:
    return row.status != "waiting", row.provenance.get("end") or ""


def _order(in_order: Iterable[str]) -> Callable[[str], tuple[int, str]]:
    """A sort key: the given names first, in their order, then all others by name."""
    place = {name: index for index, name in enumerate(dict.fromkeys(in_order))}
    return lambda name: (place.get(name, len(place)), name)


def _values(settings: Mapping[str, Any], names: Sequence[str]) -> list[tuple[bool, float, str]]:
    """A sort key of settings: numbers by size, then words."""
    values = [settings.get(name) for name in names]
    return [(False, value, "") if isinstance(value, int | float) else (True, 0.0, key(value)) for value in values]


def _label(axis: str, name: str, settings: str) -> str:
    shown = display(NAMES.get(axis, {}), name)
    return f"{shown} ({settings})" if settings else shown
