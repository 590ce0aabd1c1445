"""The options of a command for the runs it reads (--store, five filters, --where) and the files it writes (--out)."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from analysis.origin import rows_of
from analysis.rows import Row, rows_in
from analysis.where import chosen
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.process.account import expanded
from plasticity_lab.records.files import write_atomically
from plasticity_lab.records.first_readings import keep_first_reading
from plasticity_lab.records.store import Store

FILTERS = ("benchmark", "protocol", "schedule", "hyperparams", "intervention")
TRAINING = "python -m plasticity_lab.main"
DEMO = f"{TRAINING} experiment=demo"
"""Makes, within minutes, a store with an example of everything."""


def add_options(command: argparse.ArgumentParser, what: str, kind: str = "folder for the files") -> None:
    """Adds the options of a command that reads runs and writes into `what` of the store.  kind: file or folder."""
    command.add_argument(
        "--store",
        type=Path,
        nargs="+",
        metavar="STORE",
        help="the folder of records, or several, or the .json files of tables made earlier. "
        "Default $PLASTICITY_STORE, or ./store without it",
    )
    command.add_argument("--out", type=Path, help=f"the {kind}; default <store>/{what}")
    for name in FILTERS:
        command.add_argument(f"--{name}", nargs="+", metavar="NAME", help=f"only runs with this {name}")
    command.add_argument(
        "--where",
        nargs="+",
        action="extend",
        metavar="KEY=VALUE",
        help="only runs with this value of any setting, by the key that a command gives it, as in "
        "benchmark.batch_size=16 or seed=0,1",
    )


def tell(sentence: str) -> None:
    """Prints to stderr the reason for leaving out a file that cannot be read."""
    print(f"Left out: {sentence}", file=sys.stderr)


def rows_asked_for(
    asked: argparse.Namespace, command: str = DEMO, told: Callable[[str], None] = tell, unfinished: bool = False
) -> tuple[Path, list[Row]]:
    """The default folder for files, and the rows that match the filters. This is a reading of preregistered runs.

    command: a command that trains runs, for the message about an empty store. told: called with a sentence for each
    file that cannot be read. unfinished: whether waiting runs are enough.
    Raises StoreError if the store does not exist or no run has ended; ConfigError if no run matches.
    """
    places, where = places_of(asked), _where(asked.where or [])
    rows, named = rows_of_stores(places, told), " and ".join(map(str, places))
    recorded = [row for row in rows if unfinished or _ended(row)]
    if not recorded:
        waiting = len({row.run for row in rows})
        state = f"holds no finished run yet ({waiting} planned)" if waiting else "holds no runs"
        raise StoreError(f"The store {named} {state}; train some, as with `{command}`, or name another with --store.")
    wanted = {name: getattr(asked, name) for name in FILTERS if getattr(asked, name)}
    matching = [row for row in rows if all(getattr(row, name) in names for name, names in wanted.items())]
    if not any(unfinished or _ended(row) for row in matching):
        words = " ".join(f"--{name} {' '.join(names)}" for name, names in wanted.items())
        there = "; ".join(f"{name} {', '.join(sorted({getattr(row, name) for row in recorded}))}" for name in FILTERS)
        raise ConfigError(f"No finished run in {named} matches {words}; there are: {there}.")
    found = chosen(matching, where)
    for place in filter(Path.is_dir, places):
        keep_first_reading(Store(place), [row.run for row in found if _ended(row)])
    return folder_of(asked), found


def rows_of_stores(places: Sequence[Path], told: Callable[[str], None]) -> list[Row]:
    """The rows of stores and of tables' .json files, each run once under each of its names.

    If a run is in two places, one row is kept: the row of the ended run. If both or neither have ended, it is the row
    of the place that is named first; the run's metrics come from that place too.
    told: called with a sentence for each file that cannot be read, and for such runs.
    Raises StoreError if a place has no store.
    """
    first: dict[tuple[str, ...], tuple[Row, Path]] = {}
    twice: dict[tuple[Path, Path], set[str]] = {}
    for place in places:
        rows, left_out = (rows_of(place), []) if place.is_file() else rows_in(place)
        for sentence in left_out:
            told(sentence)
        for row in rows:
            name = (row.run, *(getattr(row, choice) for choice in FILTERS))
            known, stays = first.setdefault(name, (row, place))
            if _ended(row) and not _ended(known):
                first[name] = row, place
            elif _ended(row) and stays != place:
                twice.setdefault((place, stays), set()).add(row.run)
    for (left, stay), runs in twice.items():
        told(f"{len(runs)} runs of {left}, which lie in {stay} too; those stay.")
    return [row for row, _ in first.values()]


def folder_of(asked: argparse.Namespace) -> Path:
    """The first store that the command names; the default store if it names only files."""
    return next((place for place in places_of(asked) if place.is_dir()), _default())


def places_of(asked: argparse.Namespace) -> list[Path]:
    """The stores, and the .json files of tables, that the command names."""
    return [expanded(place) for place in asked.store or [_default()]]


def write(path: Path, content: bytes) -> None:
    """Writes a file of a command.  Raises StoreError, with a hint to --out, if the file cannot be written."""
    try:
        write_atomically(path, content)
    except StoreError as error:
        reason = getattr(error.__cause__, "strerror", None) or error
        raise StoreError(f"Cannot write {path}: {reason}; name another place with --out.") from error


def _default() -> Path:
    return expanded(os.environ.get("PLASTICITY_STORE") or "store")


def _ended(row: Row) -> bool:
    return row.status != "waiting"


def _where(words: Sequence[str]) -> dict[str, list[str]]:
    """Key → the values that a run may have.  Raises ConfigError if a word is not of the form KEY=VALUE."""
    where: dict[str, list[str]] = {}
    for word in words:
        name, equals, values = word.partition("=")
        if not (name and equals and values):
            raise ConfigError(f"--where takes KEY=VALUE, as in benchmark.batch_size=16; '{word}' is not of that form.")
        # Commas divide values, but not the parts of a list: benchmark.bodies=[hopper,ant].
        where.setdefault(name, []).extend(re.split(r",(?![^\[]*\])", values))
    return where
