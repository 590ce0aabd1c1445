"""`python -m analysis compare`: arms compared by a setting, as a table in every format and as a figure."""

import argparse
import sys
from dataclasses import replace
from functools import partial

from rich.console import Console

from analysis.asked import add_options, places_of, rows_asked_for, tell
from analysis.compare.comparison import BEST, FEW
from analysis.compare.preregistered.reading import fixed_for, notes_beside, those_fixed, with_heading
from analysis.compare.preregistered.state import state_of
from analysis.compare.result import compared
from analysis.frames import metrics_of
from analysis.rows import rows_in
from analysis.tables.listing import add_columns, with_columns
from analysis.tables.render import terminal
from plasticity_lab.records.store import Store


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and the function that runs it."""
    command.add_argument(
        "--by",
        metavar="SETTING",
        help="the compared setting: any group or setting by its key, such as intervention, activation.negative_slope; "
        "arm: all settings that differ between the runs, together; default the only one that differs",
    )
    command.add_argument(
        "--against",
        metavar="ARM",
        help=f"the reference arm, or {BEST}; default none of interventions, otherwise {BEST}",
    )
    command.add_argument("--metric", help="a name of the records' summary; default the agents' main metric")
    command.add_argument(
        "--pairs",
        action=argparse.BooleanOptionalAction,
        help=f"whether all pairs of arms are shown; default with 3 to {FEW} arms",
    )
    command.add_argument(
        "--preregistered",
        metavar="NAME",
        help="read what `analysis preregister` fixed under that name, by its runs, metric and test, and say whether "
        "all was kept",
    )
    command.add_argument(
        "--figure", action=argparse.BooleanOptionalAction, default=True, help="whether a figure is drawn; default yes"
    )
    add_columns(command)
    add_options(command, "tables")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    told: list[str] = []

    def left_out(sentence: str) -> None:
        if (said := f"Left out: {sentence}") not in told:  # metrics are read for several panels
            told.append(said)
            tell(sentence)

    fixed = fixed_for(asked) if asked.preregistered else None
    folder, rows = rows_asked_for(asked, told=left_out)
    store, place, state = Store(folder), folder / "tables", None
    if fixed is None:
        told += notes_beside(store, rows)
    else:
        state = state_of(store, fixed, rows_in(folder)[0])
        rows = those_fixed(rows, fixed.registration, state)
        place = place / f"preregistered_{asked.preregistered}"
    found = compared(
        rows,
        partial(metrics_of, places_of(asked), rows, told=left_out),
        by=asked.by,
        against=asked.against,
        metric=asked.metric,
        pairs=asked.pairs,
        figure=asked.figure,
        notes=[*told],
        progress=Console(stderr=True),
    )
    if fixed and state:
        found = with_heading(found, fixed.registration, state)
    found = replace(found, listings=with_columns(found.listings, asked.columns))
    if sys.stdout.isatty():
        terminal(found.once, Console())
    else:
        print(found.text())
    if asked.out or folder.is_dir():
        print(found.write(asked.out or place))
