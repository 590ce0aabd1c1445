"""`python -m analysis table|figure|check-paper|reproduction`: what runs came to, and what the paper says."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from analysis.check_paper.checks import findings
from analysis.check_paper.text import text as findings_text
from analysis.figures import FIGURES
from analysis.figures.command import figure_named, write_figure
from analysis.figures.read_metrics import metrics_of
from analysis.report.command import report
from analysis.reproduction.cells import compared
from analysis.reproduction.text import text as reproduction_text
from analysis.rows import Row, rows_in
from analysis.tables import TABLES
from analysis.tables.build import build
from analysis.tables.headline import HEADLINE
from analysis.tables.origin import origin, rows_of
from analysis.tables.render import csv_text, latex, markdown, terminal, text
from analysis.tables.table import Result
from analysis.tables.table2 import TABLE2
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.exits import leave, status_of
from plasticity_lab.records.files import write_atomically
from plasticity_lab.version import ShowVersion

FORMATS: dict[str, Callable[[Sequence[Result]], str]] = {"txt": text, "md": markdown, "csv": csv_text, "tex": latex}
FILTERS = ("benchmark", "protocol", "schedule", "hyperparams", "intervention")


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line says → its exit status, as `status_of` has it."""
    return status_of(lambda: _done(arguments))


def _done(arguments: Sequence[str] | None) -> int:
    asked = _parser().parse_args(arguments)
    asked.make(asked)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m analysis", description="What the runs of a store came to.")
    parser.add_argument("--version", action=ShowVersion)
    commands = parser.add_subparsers(dest="command", required=True)
    table = commands.add_parser("table", help="a table of the papers, from the runs of a store")
    table.add_argument(
        "name",
        nargs="?",
        help=f"which one: {', '.join(TABLES)}; default {TABLE2.name}, and {HEADLINE.name} where no run has its metric",
    )
    table.add_argument("--metric", help="a name of the records' summary; default the table's own")
    table.set_defaults(make=_table)
    figure = commands.add_parser("figure", help="a figure, from the runs of a store")
    figure.add_argument("name", help=f"which one: {', '.join(FIGURES)}")
    figure.add_argument("--metric", help="a name of the records' summary, of curves a column of metrics.parquet")
    figure.add_argument("--by", metavar="SETTING", help="of sensitivity: the setting that is varied, as optimizer.lr")
    figure.set_defaults(make=_figure)
    page = commands.add_parser("report", help="everything that a store holds, as one HTML page")
    page.set_defaults(make=_report)
    for command, what in ((table, "tables"), (figure, "figures"), (page, "report.html")):
        command.add_argument(
            "--store",
            type=Path,
            nargs="+",
            metavar="STORE",
            help="the folder of records, or several, or the .json files of tables made earlier; "
            "default $PLASTICITY_STORE, else ./store",
        )
        kind = "file" if command is page else "folder for the files"
        command.add_argument("--out", type=Path, help=f"the {kind}; default <store>/{what}")
        for name in FILTERS:
            command.add_argument(f"--{name}", nargs="+", metavar="NAME", help=f"only runs with this {name}")
    check = commands.add_parser("check-paper", help="the paper's claims, recomputed from its own printed numbers")
    check.add_argument("--disagreements", action="store_true", help="only what does not agree")
    check.set_defaults(make=_check_paper)
    reproduction = commands.add_parser("reproduction", help="how closely analysis/measured reproduces the paper")
    reproduction.add_argument("--markdown", action="store_true", help="as Markdown")
    reproduction.set_defaults(make=_reproduction)
    return parser


def _table(asked: argparse.Namespace) -> None:
    if asked.name and asked.name not in TABLES:
        raise ConfigError(f"There is no table '{asked.name}'; there are {', '.join(TABLES)}.")
    folder, rows, _ = _asked_for(asked)
    is_of_papers = any(TABLE2.cell in row.declared.summaries for row in rows)
    table = TABLES[asked.name] if asked.name else TABLE2 if is_of_papers else HEADLINE
    rows = _measured(rows, asked.metric or table.cell)
    results = build(table, rows, asked.metric)
    out = asked.out or folder / "tables"
    for ending, rendered in FORMATS.items():
        _write(out / f"{table.name}.{ending}", rendered(results).encode())
    _write(out / f"{table.name}.json", origin(rows).encode())
    if sys.stdout.isatty():
        terminal(results, Console())
    else:
        print(text(results))
    print(f"Written: {out / table.name}.{{{','.join(FORMATS)},json}}")


def _figure(asked: argparse.Namespace) -> None:
    figure_named(asked.name)
    folder, rows, places = _asked_for(asked)
    metrics = partial(metrics_of, places, rows)
    write_figure(asked.name, rows, metrics, asked.out or folder / "figures", _write, metric=asked.metric, by=asked.by)


def _report(asked: argparse.Namespace) -> None:
    folder, rows, places = _asked_for(asked)
    path = asked.out or folder / "report.html"
    _write(path, report(rows, partial(metrics_of, places, rows), places, []).encode())
    print(f"Written: {path}")


def _check_paper(asked: argparse.Namespace) -> None:
    print(findings_text(findings(), asked.disagreements), end="")


def _reproduction(asked: argparse.Namespace) -> None:
    print(reproduction_text(compared(), asked.markdown), end="")


def _asked_for(asked: argparse.Namespace) -> tuple[Path, list[Row], list[Path]]:
    """The folder for files unless --out names one, the rows that match the filters, and where they were read; what
    cannot be read is told on stderr.
    """
    default = Path(os.environ.get("PLASTICITY_STORE") or "store").expanduser()
    places = [place.expanduser() for place in asked.store or [default]]
    rows: list[Row] = []
    for place in places:
        found, left_out = (rows_of(place), []) if place.is_file() else rows_in(place)
        rows += found
        for sentence in left_out:
            print(f"Left out: {sentence}", file=sys.stderr)
    # A run that lies in two places is one run, and one that has ended is no longer waited for.
    once = {(row.run, *(getattr(row, name) for name in FILTERS)): row for row in sorted(rows, key=_ended)}
    folder = next((place for place in places if place.is_dir()), default)
    wanted = {name: getattr(asked, name) for name in FILTERS}
    return folder, _selected([*once.values()], wanted, " and ".join(map(str, places))), places


def _ended(row: Row) -> bool:
    return row.status != "waiting"


def _selected(rows: Sequence[Row], wanted: dict[str, list[str] | None], where: str) -> list[Row]:
    """The rows that match every filter.  Raises ConfigError, naming what is there, if none has finished."""
    recorded = [row for row in rows if row.status != "waiting"]
    if not recorded:
        waiting = len({row.run for row in rows})
        state = f"holds no finished run yet ({waiting} planned)" if waiting else "holds no runs"
        raise StoreError(
            f"The store {where} {state}; train some, as `python -m "
            "plasticity_lab.main experiment=demo` does, or name another store with --store."
        )
    chosen = [row for row in rows if all(not names or getattr(row, name) in names for name, names in wanted.items())]
    if not any(row.status != "waiting" for row in chosen):
        said = " ".join(f"--{name} {' '.join(names)}" for name, names in wanted.items() if names)
        there = "; ".join(f"{name} {', '.join(sorted({getattr(row, name) for row in recorded}))}" for name in wanted)
        raise ConfigError(f"No finished run in {where} matches {said}; there are: {there}.")
    return chosen


def _measured(rows: list[Row], metric: str | None) -> list[Row]:
    """The rows of agents that measure that value; all, where no agent says that it does, and for None, the headlines.

    What is left out is told on stderr.  Raises ConfigError, naming what is there, if no run's summary has the value.
    """
    names = {name for row in rows for name, value in row.summary.items() if isinstance(value, int | float)}
    wanted = {metric} if metric else {row.declared.headline for row in rows}
    if not names & wanted:
        there = f"there are {', '.join(sorted(names))}" if names else "all of them failed or diverged at once"
        raise ConfigError(f"No run's summary has '{' or '.join(sorted(wanted))}'; {there}.")
    theirs = [row for row in rows if metric in row.declared.summaries]
    if not theirs or len(theirs) == len(rows):
        return rows
    left_out = {row.run: row.study.get("agent.name") for row in rows if metric not in row.declared.summaries}
    agents = ", ".join(sorted(map(str, set(left_out.values()))))
    print(
        f"Left out: {len(left_out)} runs of agent={agents}, which do not measure {metric}; "
        f"`table {HEADLINE.name}` has what they measure.",
        file=sys.stderr,
    )
    return theirs


def _write(path: Path, content: bytes) -> None:
    try:
        write_atomically(path, content)
    except StoreError as error:
        reason = getattr(error.__cause__, "strerror", None) or error
        raise StoreError(f"Cannot write {path}: {reason}; name another folder with --out.") from error


if __name__ == "__main__":
    leave(main())
