"""Of which runs a table of summary values is made: those whose agents measure what it shows."""

from collections.abc import Sequence
from typing import Any

from analysis.outcomes import ended, why_none
from analysis.rows import Row
from analysis.tables.table import Table
from plasticity_lab.errors import ConfigError


def measured(table: Table[Any], rows: Sequence[Row], metric_name: str | None) -> tuple[list[Row], list[Row]]:
    """The rows that a table is about and whose agents measure its value; all, where no agent says that it does, and for
    a table of headlines.  Those left out beside.

    Raises ConfigError, naming what is there, if no run's summary has the value.
    """
    rows, shown = table.about(rows), metric_name or table.cell
    _check(rows, shown)
    # A waiting run has no record that says what its agent measures; but where a table names its benchmarks, that run
    # is one of the table's.
    own = "benchmark" in table.only
    return _parted(rows, shown, [row for row in rows if own and row.status == "waiting"])


def compared(table: Table[Any], rows: Sequence[Row], metric_name: str | None) -> tuple[list[Row], list[Row]]:
    """The rows whose agents measure the value by which settings are compared, and those left out.

    Where some do and no run has a value, the caption says so of each search.  Raises ConfigError where none does.
    """
    wanted = _wanted(rows, metric_name)
    if not any(wanted & row.declared.summaries.keys() for row in rows):
        _check(rows, metric_name)
    return _parted(rows, metric_name, [])


def _wanted(rows: Sequence[Row], shown: str | None) -> set[str]:
    return {shown} if shown else {row.declared.headline for row in rows}


def _check(rows: Sequence[Row], shown: str | None) -> None:
    """Raises ConfigError if runs have ended, and none of them has a value of what is shown."""
    names = {name for row in rows for name, value in row.summary.items() if isinstance(value, int | float)}
    wanted = _wanted(rows, shown)
    if names & wanted or all(row.status == "waiting" for row in rows):
        return
    said = "' or '".join(sorted(wanted))
    about = [row for row in rows if wanted & row.declared.summaries.keys()]
    undefined = {
        row.declared.summaries[name].undefined for row in about for name in wanted & row.declared.summaries.keys()
    }
    if about and all(undefined):
        raise ConfigError(f"'{said}' is not defined for these runs: {'; '.join(sorted(undefined))}.")
    if not about and names:
        raise ConfigError(f"No run's summary has '{said}'; there are {', '.join(sorted(names))}.")
    raise ConfigError(f"No run has a value of '{said}': {why_none(ended(about or rows), sorted(wanted)[0])}.")


def _parted(rows: Sequence[Row], shown: str | None, kept: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows whose agents measure it, with those that are kept anyhow, and the others; all, where none does."""
    anyhow = set(map(id, kept))
    others = [row for row in rows if shown not in row.declared.summaries and id(row) not in anyhow]
    if not others or len(others) == len(rows):
        return list(rows), []
    left_out = {row.run for row in others}
    return [row for row in rows if row.run not in left_out], others
