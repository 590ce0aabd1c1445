"""Import a file of `python -m launch export` into a store: runs, plans and unfinished packs that it lacks.

    python -m launch import study.tar.gz --store results

The whole file is checked first. Existing files of the store are never changed. Given again, the command continues.
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
    parser.add_argument("file", type=Path, help="the file that `python -m launch export` wrote")
    add_store(parser)


def run(options: argparse.Namespace) -> None:
    """The command.  Raises StoreError."""
    store = store_of(options.store)
    taken = import_archive(store, expanded(options.file))
    if taken.other:
        here = f"{counted(len(taken.other), 'run')} here {'was' if len(taken.other) == 1 else 'were'}"
        say(f"{here} trained separately from the archive's runs, and kept: {some(taken.other)}.")
    for run, reason in taken.unreadable.items():
        say(f"Left in the archive: run {run}, which no table could read: {reason}")
    known = len(taken.known) + len(taken.other)
    print(
        f"Imported into {store.root}: {counted(len(taken.runs), 'run')}, {counted(len(taken.sweeps), 'plan')}, "
        f"{counted(len(taken.packs), 'unfinished pack')}; {known:,} of the runs were here already."
    )
    if taken.sweeps and taken.packs:
        print(f"To continue the unfinished packs: python -m launch resume {taken.sweeps[-1]} --store {store.root}")
