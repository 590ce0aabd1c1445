"""`python -m analysis report`: everything that a store holds, as one HTML page that needs no network."""

import argparse
import contextlib
import tempfile
import time
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from analysis.asked import add_options, places_of, rows_asked_for, tell, write
from analysis.frames import metrics_of, without_collecting
from analysis.report.report import report
from analysis.report.sections import search_sections
from analysis.rows import Row, grouped
from analysis.tables.table import Metrics
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.record_facts import MEASURED

LEAST = 5
"""The minimum number of seconds between two pages, because making a page takes time."""


def add_command(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command, and the function that runs it."""
    add_options(command, "report.html", "file")
    command.add_argument(
        "--watch",
        type=int,
        metavar="SECONDS",
        help="make it again at this interval until no run waits; an open page reloads itself at the same interval",
    )
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    if asked.watch is not None and asked.watch < LEAST:
        raise ConfigError(f"--watch is {asked.watch}; it must be at least {LEAST} seconds.")
    while _written(asked) and asked.watch:
        time.sleep(asked.watch)


def _written(asked: argparse.Namespace) -> int:
    """Writes the page and returns the number of waiting runs."""
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


def gathered(rows: Sequence[Row], metrics: Metrics, folder: Path) -> Metrics:
    """The same metrics, from a few files in the folder: one file for all runs of a benchmark with the same columns.

    Every figure reads the metrics, and opening thousands of files takes seconds.
    metrics: reads the files of any runs; it is still used for runs that could not be written to the folder.
    """
    runs: dict[tuple[int, str], dict[str, None]] = {}
    for row in rows:
        if row.status in MEASURED:
            runs.setdefault((id(row.declared), row.benchmark), {})[row.run] = None
    place_of: dict[str, Path] = {}
    for at, alike in enumerate(runs.values()):
        path = folder / f"{at}.parquet"
        # Row by row group: a store may hold more than fits into memory.
        with contextlib.suppress(OSError, pl.exceptions.PolarsError):
            metrics(list(alike)).sink_parquet(path, compression="lz4")
            place_of |= dict.fromkeys(alike, path)

    def read(named: Collection[str]) -> pl.LazyFrame:
        runs_in = grouped(named, place_of.get)
        elsewhere = runs_in.pop(None, [])
        scans = [pl.scan_parquet(path).filter(pl.col("run").is_in(runs)) for path, runs in runs_in.items() if path]
        if elsewhere or not scans:
            scans.append(metrics(elsewhere))
        return pl.concat(scans, how="diagonal")

    return read
