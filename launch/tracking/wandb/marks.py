"""The store's files for W&B: which runs have been written, and the folders of offline runs.

One small file marks the written runs of each pack attempt. A record names the pack attempt that made it, so marks of an
earlier attempt do not count for a later one.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plasticity_lab.records.damage import DamagedFile, read_mapping, rename_aside, write_mapping
from plasticity_lab.records.files import names
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store

_ADVICE = "its pack's runs count as not written to W&B, and `python -m launch sync` writes them again"
UNFINISHED = ".writing-"
"""Prefix of the name of a folder while runs are being written into it."""


@dataclass(frozen=True)
class Destination:
    """The place that runs are written to.

    online: True for W&B's server, False for offline folders in the store. entity: "" for the default entity of the
    key's owner.
    """

    online: bool
    entity: str
    project: str

    @property
    def key(self) -> str:
        """The destination in one word, the key in a file of marks."""
        return f"{'online' if self.online else 'offline'}:{self.entity}/{self.project}"


def destination_of(settings: TrackingSettings) -> Destination | None:
    """The destination in the tracking settings of a plan; None for the store alone."""
    if settings.backend not in ("wandb_online", "wandb_offline"):
        return None
    return Destination(settings.backend == "wandb_online", settings.entity or "", settings.project)


def written(store: Store, pack: str, destination: Destination) -> set[str]:
    """The runs of a pack attempt that have been written to a destination; none if the file is damaged.

    Raises StoreError.
    """
    try:
        return set(read_marks(store, pack).get(destination.key, ()))
    except DamagedFile:
        return set()  # writing a run again does no harm


def count_written(store: Store, packs: Iterable[str], destination: Destination) -> int:
    """The number of runs of several pack attempts that have been written to a destination.  Raises StoreError."""
    return sum(len(written(store, pack, destination)) for pack in packs)


def mark_written(store: Store, pack: str, destination: Destination, runs: Iterable[str]) -> None:
    """Notes that runs of a pack attempt have been written.  Raises StoreError.

    If two processes note at the same moment, one note may be lost: its runs are written again, under the same ids.
    """
    new = set(runs)
    try:
        marks = read_marks(store, pack)
    except DamagedFile as error:
        rename_aside(error.path)
        marks = {}
    if not destination.online:
        # A run has one offline folder: this one has replaced any for another project.
        marks = {key: sorted({*old} - new) if key.startswith("offline:") else old for key, old in marks.items()}
    write_mapping(store.tracked(pack), marks | {destination.key: sorted({*marks.get(destination.key, ()), *new})})


def mark_records(store: Store, destination: Destination, records: Iterable[Mapping[str, Any]]) -> None:
    """Notes that the runs of these records have been written, as `mark_written` does for each pack attempt."""
    packs: dict[str, list[str]] = {}
    for record in records:
        packs.setdefault(record["provenance"]["pack"], []).append(record["run"])
    for pack, runs in packs.items():
        mark_written(store, pack, destination, runs)


def read_marks(store: Store, pack: str) -> dict[str, list[str]]:
    """`Destination.key` → the runs of a pack attempt that were written there.  Raises DamagedFile; StoreError."""
    path = store.tracked(pack)
    value = read_mapping(path, _ADVICE) or {}
    if not all(isinstance(runs, list) and all(isinstance(run, str) for run in runs) for runs in value.values()):
        raise DamagedFile(path, "does not list runs", _ADVICE)
    return value


def offline_folders(store: Store) -> dict[str, list[Path]]:
    """Run id → the run's offline folders.  Raises StoreError."""
    by_run: dict[str, list[Path]] = {}
    for name in names(store.wandb_folder):
        if name.startswith("offline-run-"):
            by_run.setdefault(name.rpartition("-")[2], []).append(store.wandb_folder / name)
    return by_run


def uploaded_by_hand(folders: Sequence[Path]) -> bool:
    """Whether `wandb sync` has uploaded all folders of a run: it leaves a marker file in each."""
    return all(any(folder.glob("*.wandb.synced")) for folder in folders)


def clear_offline(store: Store, runs: Iterable[str]) -> None:
    """Removes the offline folders of runs."""
    by_run = offline_folders(store)
    for folder in [folder for run in runs for folder in by_run.get(run, ())]:
        shutil.rmtree(folder, ignore_errors=True)
