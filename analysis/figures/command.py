"""`python -m analysis figure NAME`: writes a figure as PDF, SVG and PNG, and the data it shows as CSV."""

import argparse
from functools import partial

from analysis.asked import add_options, places_of, rows_asked_for, write
from analysis.figures import FIGURES, named
from analysis.figures.asked import Asked
from analysis.figures.numbers import csv_text
from analysis.figures.static import pictures
from analysis.read_metrics import metrics_of


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and what it does."""
    command.add_argument("name", help=f"which one: {', '.join(FIGURES)} (6 or F1 will do)")
    command.add_argument("--metric", help="a name of the records' summary, of curves a column of metrics.parquet")
    command.add_argument("--by", metavar="SETTING", help="of sensitivity: the setting that is varied, as optimizer.lr")
    add_options(command, "figures")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    name = named(asked.name)
    folder, rows = rows_asked_for(asked)
    metrics = partial(metrics_of, places_of(asked), rows)
    drawing = FIGURES[name](Asked(rows, metrics, asked.metric, asked.by))
    files = {**pictures(drawing), "csv": csv_text(drawing).encode()}
    out = asked.out or folder / "figures"
    for ending, content in files.items():
        write(out / f"{name}.{ending}", content)
    print("\n".join([drawing.title, *drawing.caption]))
    print(f"Written: {out / name}.{{{','.join(files)}}}")
