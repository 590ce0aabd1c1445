"""What is damaged among the small files of packs, and setting it aside. Records and plans are checked where read."""

from collections.abc import Callable, Iterable
from typing import Any

from launch.launchers.slurm.submissions import submissions_of
from launch.packs.endings import read_ending, replace_ending
from launch.packs.progress import read_progress
from launch.tracking.wandb.marks import read_marks
from plasticity_lab.errors import StoreError
from plasticity_lab.records.checkpoint import GOES_BACK, latest_epoch
from plasticity_lab.records.damage import DamagedFile, fault_of_file, rename_aside
from plasticity_lab.records.files import names
from plasticity_lab.records.store import Store

_READERS: dict[str, Callable[[Store, str], Any]] = {
    "done": read_ending,
    "packs": read_progress,
    "tracked": read_marks,
}
"""What reads the file that a pack has in a folder of the store."""


def damaged_files(store: Store, packs: Iterable[str]) -> list[DamagedFile]:
    """What is wrong with what packs keep: how they ended, how far they are, what was written to W&B.

    Leases are not among them: a damaged one holds until it runs out.  Raises StoreError if the disk does not answer.
    """
    found = []
    wanted = sorted(packs)
    # Most packs of a large store have few of these files: they are listed, and not looked for one by one.
    there = {folder: set(names(store.root / folder)) for folder in _READERS}
    for pack in wanted:
        for folder in (folder for folder in _READERS if pack in there[folder]):
            try:
                _READERS[folder](store, pack)
            except DamagedFile as error:
                found.append(error)
    return found


def damaged_checkpoints(store: Store, packs: Iterable[str]) -> list[DamagedFile]:
    """What is wrong with the latest checkpoints of packs, by their first and last bytes.  Raises StoreError."""
    begun = set(names(store.root / "packs"))
    latest = ((pack, latest_epoch(store, pack)) for pack in sorted(packs) if pack in begun)
    paths = [store.checkpoint(pack, epoch) for pack, epoch in latest if epoch >= 0]
    faults = ((path, fault_of_file(path)) for path in paths)
    return [DamagedFile(path, fault, GOES_BACK) for path, fault in faults if fault and path.exists()]


def damaged_jobs(store: Store, sweeps: Iterable[str]) -> list[DamagedFile]:
    """What is wrong with the files that say which jobs sweeps were given.  Raises StoreError."""
    unreadable: list[StoreError] = []
    for sweep in sweeps:
        submissions_of(store, sweep, unreadable)
    return [error for error in unreadable if isinstance(error, DamagedFile)]


def put_aside(store: Store, error: DamagedFile) -> str:
    """Renames a damaged file.  Returns a line that says so.  Raises StoreError."""
    aside = rename_aside(error.path)
    if error.path.parent == store.done_folder:
        replace_ending(store, error.path.name)
    return f"{error} It is {aside.name} now."
