"""Take what `python -m launch export` wrote into a store: runs, plans and unfinished packs that are not there yet.

    python -m launch import study.tar.gz --store results

The whole file is checked first. Files that the store has already are never changed. Given again, the command goes on.
"""

import argparse
from pathlib import Path

from launch.packs.lookup import add_store
from launch.wording import counted, say, some
from plasticity_lab.process.account import expanded
from plasticity_lab.records.archive_import import import_archive
from plasticity_lab.records.lookup import store_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("file", type=Path, help="what `python -m launch export` wrote")
    add_store(parser)


def run(options: argparse.Namespace) -> int:
    """The command.  Raises StoreError."""
    store = store_of(options.store)
    taken = import_archive(store, expanded(options.file))
    if taken.other:
        say(
            f"{counted(len(taken.other), 'run')} here {'was' if len(taken.other) == 1 else 'were'} trained apart from "
            f"those of the archive, and {'stays' if len(taken.other) == 1 else 'stay'}: {some(taken.other)}."
        )
    for run, reason in taken.unreadable.items():
        say(f"Left in the archive: run {run}, which no table could read: {reason}")
    known = len(taken.known) + len(taken.other)
    print(
        f"Imported into {store.root}: {counted(len(taken.runs), 'run')}, {counted(len(taken.sweeps), 'plan')}, "
        f"{counted(len(taken.packs), 'unfinished pack')}; {known:,} of the runs were here already."
    )
    if taken.sweeps and taken.packs:
        print(f"To go on with what is unfinished: python -m launch resume {taken.sweeps[-1]} --store {store.root}")
    return 0
