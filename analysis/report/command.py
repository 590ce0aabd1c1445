"""`python -m analysis report`: everything that a store holds, as one HTML page that needs no network."""

import argparse
from functools import partial

from analysis.asked import add_options, places_of, rows_asked_for, tell, write
from analysis.read_metrics import metrics_of
from analysis.report.report import report


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and what it does."""
    add_options(command, "report.html", "file")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    left_out: list[str] = []

    def told(sentence: str) -> None:
        left_out.append(sentence)
        tell(sentence)

    folder, rows = rows_asked_for(asked, told=told, unfinished=True)
    places = places_of(asked)
    page = report(rows, partial(metrics_of, places, rows, told=told), places, left_out)
    path = asked.out or folder / "report.html"
    write(path, page.encode())
    print(f"Written: {path}")
