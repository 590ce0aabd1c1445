"""Put a store's records, plans and unfinished packs into one file, which another group reads, merges and goes on from.

    python -m launch export study.tar.gz --store results

Packs that are being trained at that moment stay behind. `python -m launch import` takes the file.
"""

import argparse
from pathlib import Path

from launch.packs.lease_files import LeaseFiles
from launch.packs.lookup import add_store, store_there
from launch.wording import counted, say, some
from plasticity_lab.process.account import expanded
from plasticity_lab.records.archive import export_store
from plasticity_lab.records.first_readings import keep_first_reading

HELD_SECONDS = 600.0
"""A lease that was touched more recently is respected, whatever its plan says."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("file", type=Path, help="the archive: a name that ends in .tar, .tar.gz or .tgz")
    add_store(parser)


def run(options: argparse.Namespace) -> None:
    """The command.  Raises StoreError."""
    store, path = store_there(options.store), expanded(options.file)
    leases = LeaseFiles(store)
    held = list(leases.held(leases.epochs(), HELD_SECONDS))
    if held:
        say(f"{counted(len(held), 'pack')} being trained {'is' if len(held) == 1 else 'are'} left behind.")
    keep_first_reading(store)
    strangers: list[str] = []
    runs, packs = export_store(store, path, held, strangers)
    if strangers:
        say(f"{counted(len(strangers), 'file')} that no store writes left behind: {some(sorted(strangers))}.")
    size = path.stat().st_size
    print(f"Written: {path} with {counted(runs, 'run')} and {counted(packs, 'unfinished pack')}, {size:,} bytes.")
