"""`python -m analysis table NAME`: a table of the papers, printed, and written in every format."""

import argparse
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from analysis.asked import DEMO, TRAINING, add_options, folder_of, places_of, rows_asked_for, write
from analysis.origin import ENDING, kind_of, origin, said_of_figure
from analysis.rows import Row
from analysis.tables import TABLES, named
from analysis.tables.declared.means import HEADLINE, TABLE2
from analysis.tables.listing import Listing, add_columns, with_columns
from analysis.tables.render import csv_text, latex, markdown, terminal, text
from analysis.tables.result import Result
from analysis.tables.table import Table
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.process.account import expanded
from plasticity_lab.records.damage import OtherFormat

if TYPE_CHECKING:
    import polars as pl

FORMATS: dict[str, Callable[[Sequence[Listing]], str]] = {"txt": text, "md": markdown, "csv": csv_text, "tex": latex}
ALL = "all"
"""The name that requests every table that the store can fill."""


def add_command(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command, and the function that runs it."""
    command.add_argument(
        "name",
        nargs="?",
        help=f"which one: {', '.join(TABLES)} (2 or E3 will do), or {ALL}: each with runs in the store; "
        f"default {TABLE2.name} if its metric is the main metric of all agents, otherwise {HEADLINE.name}",
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
        preset = table.experiment if table else None
        training = f"{TRAINING} experiment={preset}" if preset and "{" not in preset else DEMO
        folder, rows = rows_asked_for(asked, training)
    else:
        folder, rows = folder_of(asked), _rows_if_any(table, asked)
    table = table or _default(rows)
    rows = _ready(table, asked, rows)
    shown = with_columns(table.listings(rows, asked.metric), asked.columns)
    _show(shown)
    if asked.out or folder.is_dir():
        _write(table, rows, shown, asked.out or folder / "tables")


def _check_no_file(name: str | None) -> None:
    """Raises ConfigError if the name is a .json file."""
    if name is None or not name.endswith(ENDING):
        return
    if kind_of(path := expanded(name)) == "figure":
        raise ConfigError(said_of_figure(path))
    raise ConfigError(
        f"'{name}' is no name of a table; a table is made of the runs in a .json file by `python -m analysis table "
        f"--store {name}`."
    )


def _make_all(asked: argparse.Namespace) -> None:
    """Prints the default table, writes every table with content from runs or conf/, and names the other tables."""
    if asked.columns:
        raise ConfigError(f"--columns is of one table; name it in the place of {ALL}.")
    folder, rows = rows_asked_for(asked)
    first = _default(rows)
    _show(first.listings(_measured(first, rows, asked.metric), asked.metric))
    asked.metric, without = None, []
    for table in TABLES.values():
        try:
            runs = _ready(table, asked, rows, quiet=True)
        except ConfigError:  # no run has its metric
            without.append(table.name)
            continue
        shown = table.listings(runs)
        if any(listing.is_ours for listing in shown):
            _write(table, runs, shown, asked.out or folder / "tables")
        else:
            without.append(table.name)
    print(f"Nothing here for: {', '.join(without)}. `python -m analysis table NAME` names the missing runs of each.")


def _rows_if_any(table: Table[Any], asked: argparse.Namespace) -> list[Row]:
    """The rows for a table that does not need runs; empty unless the table shows runs and the store has some."""
    if table.runs != "shown":
        return []
    try:
        return rows_asked_for(asked)[1]
    except OtherFormat:
        raise
    except StoreError:  # the store does not exist, or no run has ended
        return []


def _ready(table: Table[Any], asked: argparse.Namespace, rows: Sequence[Row], quiet: bool = False) -> list[Row]:
    """The rows of the table, with their returns by task if the table shows these."""
    kept = _measured(table, rows, asked.metric, quiet)

    def metrics(runs: Collection[str]) -> "pl.LazyFrame":
        from analysis.frames import metrics_of  # imports Polars, half a second; other tables do not need it

        return metrics_of(places_of(asked), kept, runs)

    return table.ready(kept, metrics)


def _show(shown: Sequence[Listing]) -> None:
    """Prints tables: in colour on a terminal, as plain text otherwise."""
    if sys.stdout.isatty():
        terminal(shown, Console())
    else:
        print(text(shown))


def _write(table: Table[Any], rows: Sequence[Row], shown: Sequence[Listing], out: Path) -> None:
    """Writes the table in every format, and its runs as JSON if it has some; prints the path."""
    contents = {ending: rendered(shown) for ending, rendered in FORMATS.items()}
    if rows:
        contents["json"] = origin(rows)
    for ending, content in contents.items():
        write(out / f"{table.name}.{ending}", content.encode())
    print(f"Written: {out / table.name}.{{{','.join(contents)}}}")


def _default(rows: Sequence[Row]) -> Table[Result]:
    headlines = {row.declared.headline for row in rows if row.status != "waiting"}
    return TABLE2 if headlines <= {TABLE2.cell} else HEADLINE


def _measured(table: Table[Any], rows: Sequence[Row], metric: str | None, quiet: bool = False) -> list[Row]:
    """The rows of a table. Prints the left-out rows to stderr, unless quiet.

    Raises ConfigError, with the existing values, if no run's summary has the value.
    """
    kept, left_out = table.measured(table, rows, metric)
    if left_out and not quiet:
        agents = ", ".join(sorted({str(row.study.get("agent.name")) for row in left_out}))
        print(
            f"Left out: {len({row.run for row in left_out})} runs of agent={agents}, which do not measure "
            f"{metric or table.cell}; `table {HEADLINE.name}` shows their own metric.",
            file=sys.stderr,
        )
    return kept
