"""`python -m analysis cite`: BibTeX of everything that the runs of a store used."""

import argparse
import sys
from collections.abc import Iterator, Sequence

from analysis.asked import add_options, places_of, rows_asked_for, write
from analysis.cite.references import cited, entries
from analysis.conf import groups
from analysis.rows import Row
from plasticity_lab.records.record import records_of
from plasticity_lab.records.store import Store


def add_command(command: argparse.ArgumentParser) -> None:
    """Adds the options and the action of the command."""
    add_options(command, "references.bib", "file")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    _, rows = rows_asked_for(asked, unfinished=True)
    by_key, without = cited([*_of_rows(rows), *_diagnostics(asked, {row.run for row in rows})])
    parts = [f"% {', '.join(options)}\n{entries()[key]}\n" for key, options in by_key.items()]
    text = "\n".join(parts)
    if asked.out is None:
        print(text, end="")
    else:
        write(asked.out, text.encode())
    for sentence in without:
        print(f"No reference for {sentence}.", file=sys.stderr)


def _of_rows(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """The options of runs: group, name."""
    for row in rows:
        for group in groups():
            name = getattr(row, group, None) or row.study.get(f"{group}.name")
            if name:
                yield group, name


def _diagnostics(asked: argparse.Namespace, runs: set[str]) -> Iterator[tuple[str, str]]:
    """The diagnostics that the records of these runs name; they are no part of a row."""
    for place in places_of(asked):
        for record in records_of(Store(place), []) if place.is_dir() else ():
            if record["run"] in runs:
                for group, chosen in (record.get("besides") or {}).items():
                    yield group, chosen["name"]
