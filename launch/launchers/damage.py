"""What is damaged among the small files of packs, and setting it aside. Records and plans are checked where read."""

from collections.abc import Callable, Iterable
from typing import Any

from launch.launchers.slurm.submitted import submissions_of
from launch.packs.endings import read_ending, replace_ending
from launch.packs.progress import read_progress
from launch.tracking.wandb.marks import read_marks
from plasticity_lab.errors import StoreError
from plasticity_lab.records.checkpoint import GOES_BACK, latest_epoch
from plasticity_lab.records.damage import DamagedFile, fault_of_tensors, rename_aside
from plasticity_lab.records.store import Store

_READERS: tuple[Callable[[Store, str], Any], ...] = (read_ending, read_progress, read_marks)


def damaged_files(store: Store, packs: Iterable[str]) -> list[DamagedFile]:
    """What is wrong with what packs keep: how they ended, how far they are, what was written to W&B.

    Leases are not among them: a damaged one holds until it runs out.  Raises StoreError if the disk does not answer.
    """
    found = []
    for pack in sorted(packs):
        for read in _READERS:
            try:
                read(store, pack)
            except DamagedFile as error:
                found.append(error)
    return found


def damaged_checkpoints(store: Store, packs: Iterable[str]) -> list[DamagedFile]:
    """What is wrong with the latest checkpoints of packs, by their first and last bytes.  Raises StoreError."""
    latest = ((pack, latest_epoch(store, pack)) for pack in sorted(packs))
    paths = [store.checkpoint(pack, epoch) for pack, epoch in latest if epoch >= 0]
    faults = ((path, fault_of_tensors(path)) for path in paths)
    return [DamagedFile(path, fault, GOES_BACK) for path, fault in faults if fault and path.exists()]


def damaged_jobs(store: Store, sweeps: Iterable[str]) -> list[DamagedFile]:
    """What is wrong with the files that tell which jobs sweeps were given.  Raises StoreError."""
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
