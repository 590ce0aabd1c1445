"""The offline W&B runs in a store: one folder for each run, with W&B's own file in it."""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from plasticity_lab.records.files import names
from plasticity_lab.records.store import Store

UNFINISHED = ".writing-"
"""How the names of folders begin in which runs are being written."""


def offline_folders(store: Store) -> dict[str, list[Path]]:
    """Run → its folders.  Raises StoreError."""
    found: dict[str, list[Path]] = {}
    for name in names(store.wandb_folder):
        if name.startswith("offline-run-"):
            found.setdefault(name.rpartition("-")[2], []).append(store.wandb_folder / name)
    return found


def uploaded_by_hand(folders: Sequence[Path]) -> bool:
    """Whether `wandb sync` has uploaded all folders of a run: it leaves a file in each that says so."""
    return all(any(folder.glob("*.wandb.synced")) for folder in folders)


def clear_offline(store: Store, runs: Iterable[str]) -> None:
    """Removes the folders of runs."""
    found = offline_folders(store)
    for folder in [folder for run in runs for folder in found.get(run, ())]:
        shutil.rmtree(folder, ignore_errors=True)
