"""`python -m analysis table NAME`: a table of the papers, printed, and written in every format."""

import argparse
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from analysis.asked import DEMO, add_options, folder_of, places_of, rows_asked_for, write
from analysis.origin import origin
from analysis.outcomes import ended, why_none
from analysis.rows import Row
from analysis.tables import TABLES, Declared, named
from analysis.tables.build import of_table
from analysis.tables.grid import Shown
from analysis.tables.grids import GridsTable
from analysis.tables.headline import HEADLINE
from analysis.tables.make import has_something, made, needs_runs, ready
from analysis.tables.missing import TRAINING
from analysis.tables.render import csv_text, latex, markdown, terminal, text
from analysis.tables.selected import SelectionTable
from analysis.tables.settings import SettingsTable
from analysis.tables.stages import Metrics
from analysis.tables.table import Table
from analysis.tables.table2 import TABLE2
from plasticity_lab.errors import ConfigError, StoreError

if TYPE_CHECKING:
    import polars as pl

FORMATS: dict[str, Callable[[Sequence[Shown]], str]] = {"md": markdown, "csv": csv_text, "tex": latex}
ALL = "all"
"""The name of everything that a store can feed."""


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and what it does."""
    command.add_argument(
        "name",
        nargs="?",
        help=f"which one: {', '.join(TABLES)} (2 or E3 will do), or {ALL}: each that the store can feed; "
        f"default {TABLE2.name}, and {HEADLINE.name} where no run has its metric",
    )
    command.add_argument("--metric", help="a name of the records' summary; default the table's own")
    add_options(command, "tables")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    if asked.name == ALL:
        _make_all(asked)
        return
    table = named(asked.name) if asked.name else None
    if table is None or needs_runs(table):
        folder, rows = rows_asked_for(asked, _training(table))
    else:
        folder, rows = folder_of(asked), _rows_if_any(table, asked)
    table = table or _default(rows)
    rows = _measured(table, rows, asked.metric)
    rows = ready(table, rows, _metrics(asked, rows))
    shown = made(table, rows, asked.metric)
    words = text(shown)
    _show(shown, words)
    if asked.out or folder.is_dir():
        print(_written(table, rows, shown, asked.out or folder / "tables", words))


def _make_all(asked: argparse.Namespace) -> None:
    """Prints the default table; writes every one that has something of ours, and says which have not."""
    folder, rows = rows_asked_for(asked)
    first = _default(rows)
    shown = made(first, _measured(first, rows, asked.metric), asked.metric)
    _show(shown, text(shown))
    without = []
    for table in TABLES.values():
        try:
            those = _measured(table, rows, None, quiet=True)
        except ConfigError:  # no run has its metric
            without.append(table.name)
            continue
        those = ready(table, those, _metrics(asked, those))
        shown = made(table, those)
        if has_something(shown):
            print(_written(table, those, shown, asked.out or folder / "tables", text(shown)))
        else:
            without.append(table.name)
    print(f"Nothing here for: {', '.join(without)}. `python -m analysis table NAME` says what each lacks.")


def _rows_if_any(table: Declared, asked: argparse.Namespace) -> list[Row]:
    """What a table that needs no runs has a column for where there are some."""
    if not isinstance(table, GridsTable):
        return []
    try:
        return rows_asked_for(asked)[1]
    except StoreError:  # there is no store, or none of its runs has ended
        return []


def _metrics(asked: argparse.Namespace, rows: Sequence[Row]) -> Metrics:
    """What runs measured along their way, for tables that are made of that."""

    def read(runs: Collection[str]) -> "pl.LazyFrame":
        from analysis.read_metrics import metrics_of  # Polars: half a second, which other tables do not need

        return metrics_of(places_of(asked), rows, runs)

    return read


def _show(shown: Sequence[Shown], words: str) -> None:
    """Prints tables; words: their text, for what is no terminal."""
    if sys.stdout.isatty():
        terminal(shown, Console())
    else:
        print(words)


def _written(table: Declared, rows: Sequence[Row], shown: Sequence[Shown], out: Path, words: str) -> str:
    """Writes every format, and what it was made of where it was made of runs.  Returns where they are."""
    write(out / f"{table.name}.txt", words.encode())
    for ending, rendered in FORMATS.items():
        write(out / f"{table.name}.{ending}", rendered(shown).encode())
    if rows:
        write(out / f"{table.name}.json", origin(rows).encode())
    return f"Written: {out / table.name}.{{{','.join(['txt', *FORMATS, *['json'] * bool(rows)])}}}"


def _training(table: Declared | None) -> str:
    """The command that trains a table's runs, for a store without any."""
    preset = getattr(table, "experiment", None)
    return f"{TRAINING} experiment={preset}" if preset and "{" not in preset else DEMO


def _default(rows: Sequence[Row]) -> Table:
    return TABLE2 if any(TABLE2.cell in row.declared.summaries for row in rows) else HEADLINE


def _nothing(rows: Sequence[Row], wanted: set[str], names: Collection[str]) -> str:
    """Why no run has a value of what is wanted: none is asked to measure it, or what became of those that are."""
    said = "' or '".join(sorted(wanted))
    about = [row for row in rows if wanted & row.declared.summaries.keys()]
    if not about and names:
        return f"No run's summary has '{said}'; there are {', '.join(sorted(names))}."
    return f"No run has a value of '{said}': {why_none(ended(about or rows), sorted(wanted)[0])}."


def _measured(table: Declared, rows: Sequence[Row], metric: str | None, quiet: bool = False) -> list[Row]:
    """The rows of a table whose agents measure what it shows; all, where no agent says that it does, and for a table of
    headlines.

    What is left out is told on stderr unless that should be quiet.  Raises ConfigError, naming what is there, if no
    run's summary has the value.
    """
    if not isinstance(table, Table | SelectionTable | SettingsTable):
        return list(rows)
    rows = of_table(table, rows) if isinstance(table, Table) else list(rows)
    shown = metric or (table.cell if isinstance(table, Table) else None)
    names = {name for row in rows for name, value in row.summary.items() if isinstance(value, int | float)}
    wanted = {shown} if shown else {row.declared.headline for row in rows}
    chosen = not isinstance(table, Table) and any(wanted & row.declared.summaries.keys() for row in rows)
    if not names & wanted and not chosen and any(row.status != "waiting" for row in rows):
        raise ConfigError(_nothing(rows, wanted, names))
    # What an agent measures stands in its records, and waiting runs have none; but where a table names its
    # benchmarks, that run is one of the table's.
    own = isinstance(table, Table) and "benchmark" in table.only
    others = [row for row in rows if shown not in row.declared.summaries and not (own and row.status == "waiting")]
    if not others or len(others) == len(rows):
        return rows
    left_out = {row.run: row.study.get("agent.name") for row in others}
    agents = ", ".join(sorted(map(str, set(left_out.values()))))
    if not quiet:
        print(
            f"Left out: {len(left_out)} runs of agent={agents}, which do not measure {shown}; "
            f"`table {HEADLINE.name}` has what they measure.",
            file=sys.stderr,
        )
    return [row for row in rows if row.run not in left_out]
