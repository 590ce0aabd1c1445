"""`python -m analysis report`: everything that a store holds, as one HTML page that needs no network."""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

from analysis.asked import add_options, places_of, rows_asked_for, tell, write
from analysis.frames import without_collecting
from analysis.read_metrics import metrics_of
from analysis.report.gathered import gathered
from analysis.report.report import report
from analysis.report.searches import search_sections
from plasticity_lab.errors import ConfigError

LEAST = 5
"""Seconds between two pages at least: making one takes some."""


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and what it does."""
    add_options(command, "report.html", "file")
    command.add_argument(
        "--watch",
        type=int,
        metavar="SECONDS",
        help="make it again that often until no run waits; an open page loads itself anew as often",
    )
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    if asked.watch is not None and asked.watch < LEAST:
        raise ConfigError(f"--watch is {asked.watch}; it must be at least {LEAST} seconds.")
    while _written(asked) and asked.watch:
        time.sleep(asked.watch)


def _written(asked: argparse.Namespace) -> int:
    """Writes the page; how many of its runs wait."""
    left_out: list[str] = []

    def told(sentence: str) -> None:
        left_out.append(sentence)
        tell(sentence)

    with without_collecting():
        folder, rows = rows_asked_for(asked, told=told, unfinished=True)
    places = places_of(asked)
    waiting = sum(row.status == "waiting" for row in rows)
    again = asked.watch if waiting else None
    searches = search_sections(places, {row.run for row in rows}, told)
    with tempfile.TemporaryDirectory(prefix="plasticity-report-") as own:
        metrics = gathered(rows, partial(metrics_of, places, rows, told=told), Path(own))
        page = report(rows, metrics, places, left_out, again, searches)
    path = asked.out or folder / "report.html"
    write(path, page.encode())
    many = f"; {waiting:,} runs wait, again in {again} s" if again else ""
    print(f"Written: {path}{many}", flush=True)
    return waiting
