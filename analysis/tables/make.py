"""From a declaration and the rows of a store to what is shown."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.rows import Row
from analysis.tables import Declared
from analysis.tables.build import build
from analysis.tables.grid import Shown
from analysis.tables.grids import GridsTable, grids_table
from analysis.tables.listing import Listing
from analysis.tables.missing import cannot
from analysis.tables.properties import PropertyTable, property_table
from analysis.tables.schedule import ScheduleTable, schedule_table
from analysis.tables.score_listing import score_tables
from analysis.tables.scores import ScoreTable, in_this_version, of_scores
from analysis.tables.selected import SelectionTable, selection_table
from analysis.tables.settings import SettingsTable, can_be_searched, settings_table
from analysis.tables.stages import Metrics, with_stages
from analysis.tables.table import Table

_MAKERS: Mapping[type, Callable[[Any, Sequence[Row], str | None], Sequence[Shown]]] = {
    Table: build,
    SettingsTable: settings_table,
    ScheduleTable: schedule_table,
    GridsTable: grids_table,
    PropertyTable: property_table,
    SelectionTable: selection_table,
}


def made(
    table: Declared, rows: Sequence[Row], metric_name: str | None = None, metrics: Metrics | None = None
) -> list[Shown]:
    """What a table shows of some rows, one for each selection of runs that they hold.

    metrics: reads what runs measured along their way, for tables that are made of that.
    """
    if isinstance(table, ScoreTable):
        return list(score_tables(table, rows, metrics))
    return list(_MAKERS[type(table)](table, rows, metric_name))


def ready(table: Declared, rows: Sequence[Row], metrics: Metrics) -> list[Row]:
    """The rows with all that a table is made of, so that they make it again where the metrics are no longer at hand."""
    if not isinstance(table, ScoreTable):
        return list(rows)
    about = of_scores(table, rows)
    known = dict(zip(map(id, about), with_stages(about, metrics), strict=True))
    return [known.get(id(row), row) for row in rows]


def has_something(shown: Sequence[Shown]) -> bool:
    """Whether anything of ours stands in it, and not the paper's numbers alone."""
    return any(each.is_ours if isinstance(each, Listing) else bool(each.cells) for each in shown)


def needs_runs(table: Declared) -> bool:
    """Whether a store is looked at: not for what stands in conf/, nor for what no run of this version can fill."""
    match table:
        case Table():
            return not cannot(table)
        case ScoreTable():
            return in_this_version(table)
        case SettingsTable():
            return can_be_searched(table)
        case _:
            return isinstance(table, SelectionTable)
