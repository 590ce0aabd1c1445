"""Finds damaged small files of packs, and sets them aside. The readers of records and plans check those files."""

from collections.abc import Callable, Iterable
from typing import Any

from launch.launchers.slurm.submissions import submissions_of
from launch.packs.endings import read_ending
from launch.packs.progress import read_progress
from launch.tracking.wandb.marks import read_marks
from plasticity_lab.errors import StoreError
from plasticity_lab.records.checkpoint import GOES_BACK, latest_epoch
from plasticity_lab.records.damage import DamagedFile, fault_of_file
from plasticity_lab.records.files import names
from plasticity_lab.records.store import Store

_READERS: dict[str, Callable[[Store, str], Any]] = {
    "done": read_ending,
    "packs": read_progress,
    "tracked": read_marks,
}
"""Folder of the store → the function that reads a pack's file in it."""


def damaged_files(store: Store, packs: Iterable[str]) -> list[DamagedFile]:
    """The errors of damaged endings, progress files, and marks of uploads to W&B.

    Leases are not read: a damaged lease holds until it runs out.  Raises StoreError if the disk does not answer.
    """
    damaged = []
    wanted = sorted(packs)
    # Most packs of a large store have few of these files. So folders are listed once, and no missing file is opened.
    present = {folder: set(names(store.root / folder)) for folder in _READERS}
    for pack in wanted:
        for folder, read in _READERS.items():
            if pack in present[folder]:
                try:
                    read(store, pack)
                except DamagedFile as error:
                    damaged.append(error)
    return damaged


def damaged_checkpoints(store: Store, packs: Iterable[str]) -> list[DamagedFile]:
    """The errors of packs' damaged latest checkpoints, found by their first and last bytes.  Raises StoreError."""
    begun = set(names(store.root / "packs"))
    latest = ((pack, latest_epoch(store, pack)) for pack in sorted(packs) if pack in begun)
    paths = [store.checkpoint(pack, epoch) for pack, epoch in latest if epoch >= 0]
    faults = ((path, fault_of_file(path)) for path in paths)
    return [DamagedFile(path, fault, GOES_BACK) for path, fault in faults if fault and path.exists()]


def damaged_jobs(store: Store, sweeps: Iterable[str]) -> list[DamagedFile]:
    """The errors of damaged files about the Slurm jobs of sweeps.  Raises StoreError."""
    unreadable: list[StoreError] = []
    for sweep in sweeps:
        submissions_of(store, sweep, unreadable)
    return [error for error in unreadable if isinstance(error, DamagedFile)]
