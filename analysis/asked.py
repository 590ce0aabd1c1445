"""What a command asks of stores: which runs, by --store, five filters and --where; and where its files go."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from analysis.origin import rows_of
from analysis.rows import Row, rows_in
from analysis.where import chosen
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.process.account import expanded
from plasticity_lab.records.files import write_atomically

FILTERS = ("benchmark", "protocol", "schedule", "hyperparams", "intervention")
TRAINING = "python -m plasticity_lab.main"
DEMO = f"{TRAINING} experiment=demo"
"""What makes a store that has something of everything, in minutes."""


def add_options(command: argparse.ArgumentParser, what: str, kind: str = "folder for the files") -> None:
    """The options of a command that reads runs and writes into `what` of the store, which is of that kind."""
    command.add_argument(
        "--store",
        type=Path,
        nargs="+",
        metavar="STORE",
        help="the folder of records, or several, or the .json files of tables made earlier; "
        "default $PLASTICITY_STORE, else ./store",
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
    """Says on stderr what cannot be read."""
    print(f"Left out: {sentence}", file=sys.stderr)


def rows_asked_for(
    asked: argparse.Namespace, command: str = DEMO, told: Callable[[str], None] = tell, unfinished: bool = False
) -> tuple[Path, list[Row]]:
    """The folder for files unless --out names one, and the rows that match the filters.

    command: what would make the runs that are wanted, for a store that has none. told: is called with a sentence for
    each file that cannot be read. unfinished: whether runs that wait are enough.
    Raises StoreError where there is no store, or no run has ended; ConfigError where none matches.
    """
    places = places_of(asked)
    rows = rows_of_stores(places, told)
    wanted = {name: getattr(asked, name) for name in FILTERS}
    where = _where(asked.where or [])
    found = _selected(rows, wanted, where, " and ".join(map(str, places)), command, unfinished)
    return folder_of(asked), found


def rows_of_stores(places: Sequence[Path], told: Callable[[str], None]) -> list[Row]:
    """The rows of stores and of tables' .json files, each run once under each of its names.

    Of a run that lies in two places one stays: one that has ended, else the one of the place that is named first, whose
    metrics are read too. told: is called with a sentence for each file that cannot be read, and for such runs.
    Raises StoreError where there is no store at a place.
    """
    once: dict[tuple[str, ...], tuple[Row, Path]] = {}
    twice: dict[tuple[Path, Path], set[str]] = {}
    for place in places:
        found, left_out = (rows_of(place), []) if place.is_file() else rows_in(place)
        for sentence in left_out:
            told(sentence)
        for row in found:
            name = (row.run, *(getattr(row, each) for each in FILTERS))
            if name not in once:
                once[name] = row, place
                continue
            before, there = once[name]
            stays = there if _ended(before) or not _ended(row) else place
            once[name] = (before, there) if stays == there else (row, place)
            if there != place and _ended(before) and _ended(row):
                twice.setdefault((place, there), set()).add(row.run)
    for (left, stay), runs in twice.items():
        told(f"{len(runs)} runs of {left}, which lie in {stay} too; those stay.")
    return [row for row, _ in once.values()]


def folder_of(asked: argparse.Namespace) -> Path:
    """The first store that is asked for; the default where files alone are."""
    return next((place for place in places_of(asked) if place.is_dir()), _default())


def places_of(asked: argparse.Namespace) -> list[Path]:
    """The stores, and the .json files of tables, that are asked for."""
    return [expanded(place) for place in asked.store or [_default()]]


def write(path: Path, content: bytes) -> None:
    """Writes a file that a command was asked for.  Raises StoreError, naming --out."""
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
    """Key → the values that a run may have there.  Raises ConfigError for a word without both."""
    where: dict[str, list[str]] = {}
    for word in words:
        name, equals, values = word.partition("=")
        if not (name and equals and values):
            raise ConfigError(f"--where takes KEY=VALUE, as in benchmark.batch_size=16; '{word}' is not of that form.")
        # Commas divide values, but not the parts of a list: benchmark.bodies=[hopper,ant].
        where.setdefault(name, []).extend(re.split(r",(?![^\[]*\])", values))
    return where


def _selected(
    rows: Sequence[Row],
    wanted: Mapping[str, list[str] | None],
    where: Mapping[str, list[str]],
    places: str,
    command: str,
    unfinished: bool,
) -> list[Row]:
    """The rows that match every filter.  Raises StoreError if none has ended, ConfigError if none matches.

    unfinished: whether it is enough that they wait.
    """
    recorded = [row for row in rows if unfinished or _ended(row)]
    if not recorded:
        waiting = len({row.run for row in rows})
        state = f"holds no finished run yet ({waiting} planned)" if waiting else "holds no runs"
        raise StoreError(f"The store {places} {state}; train some, as with `{command}`, or name another with --store.")
    found = [row for row in rows if all(not names or getattr(row, name) in names for name, names in wanted.items())]
    if not any(unfinished or _ended(row) for row in found):
        said = " ".join(f"--{name} {' '.join(names)}" for name, names in wanted.items() if names)
        there = "; ".join(f"{name} {', '.join(sorted({getattr(row, name) for row in recorded}))}" for name in wanted)
        raise ConfigError(f"No finished run in {places} matches {said}; there are: {there}.")
    return chosen(found, where)
