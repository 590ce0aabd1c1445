"""`python -m analysis table NAME`: a table of the papers, printed, and written in every format."""

import argparse
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from analysis.asked import DEMO, add_options, folder_of, places_of, rows_asked_for, write
from analysis.origin import origin
from analysis.rows import Row
from analysis.stored_json import ENDING, kind_of, said_of_figure
from analysis.tables import TABLES, named
from analysis.tables.columns import add_columns, with_columns
from analysis.tables.declared.headline import HEADLINE
from analysis.tables.declared.table2 import TABLE2
from analysis.tables.listing import Listing
from analysis.tables.missing import TRAINING
from analysis.tables.render import csv_text, latex, markdown, terminal, text
from analysis.tables.result import Result
from analysis.tables.stages import Metrics
from analysis.tables.table import Table
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.process.account import expanded
from plasticity_lab.records.damage import OldFormat

if TYPE_CHECKING:
    import polars as pl

FORMATS: dict[str, Callable[[Sequence[Listing]], str]] = {"md": markdown, "csv": csv_text, "tex": latex}
ALL = "all"
"""The name of everything that a store can feed."""


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and what it does."""
    command.add_argument(
        "name",
        nargs="?",
        help=f"which one: {', '.join(TABLES)} (2 or E3 will do), or {ALL}: each that the store can feed; "
        f"default {TABLE2.name} where its metric is what all agents name first, else {HEADLINE.name}",
    )
    command.add_argument("--metric", help="a name of the records' summary; default the table's own")
    add_columns(command)
    add_options(command, "tables")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    if asked.name == ALL:
        _make_all(asked)
        return
    _check_no_file(asked.name)
    table = named(asked.name) if asked.name else None
    if table is None or table.needs_runs():
        folder, rows = rows_asked_for(asked, _training(table))
    else:
        folder, rows = folder_of(asked), _rows_if_any(table, asked)
    table = table or _default(rows)
    rows = _measured(table, rows, asked.metric)
    rows = table.ready(rows, _metrics(asked, rows))
    shown = with_columns(table.listings(rows, asked.metric), asked.columns)
    words = text(shown)
    _show(shown, words)
    if asked.out or folder.is_dir():
        print(_written(table, rows, shown, asked.out or folder / "tables", words))


def _check_no_file(name: str | None) -> None:
    """Raises ConfigError for a .json file in the place of a table's name."""
    if name is None or not name.endswith(ENDING):
        return
    if kind_of(path := expanded(name)) == "figure":
        raise ConfigError(said_of_figure(path))
    raise ConfigError(
        f"'{name}' is no name of a table; a table is made of the runs in a .json file by `python -m analysis table "
        f"--store {name}`."
    )


def _make_all(asked: argparse.Namespace) -> None:
    """Prints the default table; writes every one that has something of ours, and says which have not."""
    if asked.columns:
        raise ConfigError(f"--columns is of one table; name it in the place of {ALL}.")
    folder, rows = rows_asked_for(asked)
    first = _default(rows)
    shown = first.listings(_measured(first, rows, asked.metric), asked.metric)
    _show(shown, text(shown))
    without = []
    for table in TABLES.values():
        try:
            those = _measured(table, rows, None, quiet=True)
        except ConfigError:  # no run has its metric
            without.append(table.name)
            continue
        those = table.ready(those, _metrics(asked, those))
        shown = table.listings(those)
        if any(each.is_ours for each in shown):
            print(_written(table, those, shown, asked.out or folder / "tables", text(shown)))
        else:
            without.append(table.name)
    print(f"Nothing here for: {', '.join(without)}. `python -m analysis table NAME` says what each lacks.")


def _rows_if_any(table: Table[Any], asked: argparse.Namespace) -> list[Row]:
    """What a table that needs no runs has a column for where there are some."""
    if table.runs != "shown":
        return []
    try:
        return rows_asked_for(asked)[1]
    except OldFormat:
        raise
    except StoreError:  # there is no store, or none of its runs has ended
        return []


def _metrics(asked: argparse.Namespace, rows: Sequence[Row]) -> Metrics:
    """What runs measured along their way, for tables that are made of that."""

    def read(runs: Collection[str]) -> "pl.LazyFrame":
        from analysis.read_metrics import metrics_of  # Polars: half a second, which other tables do not need

        return metrics_of(places_of(asked), rows, runs)

    return read


def _show(shown: Sequence[Listing], words: str) -> None:
    """Prints tables; words: their text, for what is no terminal."""
    if sys.stdout.isatty():
        terminal(shown, Console())
    else:
        print(words)


def _written(table: Table[Any], rows: Sequence[Row], shown: Sequence[Listing], out: Path, words: str) -> str:
    """Writes every format, and what it was made of where it was made of runs.  Returns where they are."""
    write(out / f"{table.name}.txt", words.encode())
    for ending, rendered in FORMATS.items():
        write(out / f"{table.name}.{ending}", rendered(shown).encode())
    if rows:
        write(out / f"{table.name}.json", origin(rows).encode())
    return f"Written: {out / table.name}.{{{','.join(['txt', *FORMATS, *['json'] * bool(rows)])}}}"


def _training(table: Table[Any] | None) -> str:
    """The command that trains a table's runs, for a store without any."""
    preset = table.experiment if table else None
    return f"{TRAINING} experiment={preset}" if preset and "{" not in preset else DEMO


def _default(rows: Sequence[Row]) -> Table[Result]:
    first = {row.declared.headline for row in rows if row.status != "waiting"}
    return TABLE2 if first <= {TABLE2.cell} else HEADLINE


def _measured(table: Table[Any], rows: Sequence[Row], metric: str | None, quiet: bool = False) -> list[Row]:
    """The rows of which a table is made; what is left out is said on stderr unless that should be quiet.

    Raises ConfigError, naming what is there, if no run's summary has the value.
    """
    kept, left_out = table.measured(table, rows, metric)
    if left_out and not quiet:
        agent_of = {row.run: row.study.get("agent.name") for row in left_out}
        agents = ", ".join(sorted(map(str, set(agent_of.values()))))
        print(
            f"Left out: {len(agent_of)} runs of agent={agents}, which do not measure {metric or table.cell}; "
            f"`table {HEADLINE.name}` has what they measure.",
            file=sys.stderr,
        )
    return kept
