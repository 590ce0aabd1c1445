"""Checkpoints of unfinished packs: one file for each lease epoch, of which the highest complete one counts.

A worker writes under its own epoch only, so one that lost its lease without knowing cannot overwrite a newer one.
"""

import contextlib
import logging
import shutil
from collections.abc import Mapping
from typing import Any

from plasticity_lab.records.damage import DamagedFile, read_file, write_file
from plasticity_lab.records.files import names
from plasticity_lab.records.old_format import OldFormat
from plasticity_lab.records.store import Store
from plasticity_lab.records.tensors import save_tensors, tensors_of

log = logging.getLogger(__name__)
GOES_BACK = "its pack goes back to an earlier checkpoint, or to its beginning"


def save_checkpoint(store: Store, pack: str, epoch: int, payload: dict[str, Any]) -> None:
    """Writes the state of a pack (tensors, numbers, words, lists and dicts of them) under a lease epoch.

    It replaces the one of the same epoch; of the earlier ones the latest stays to fall back on.  Raises StoreError.
    """
    write_file(store.checkpoint(pack, epoch), lambda file: save_tensors(payload, file))
    for older in [earlier for earlier in epochs_of(store, pack) if earlier < epoch][1:]:
        with contextlib.suppress(OSError):
            store.checkpoint(pack, older).unlink()


def load_checkpoint(store: Store, pack: str) -> dict[str, Any] | None:
    """The state of a pack at its highest complete epoch, on the CPU; None if there is none.

    A damaged file is named in a warning, and the next lower epoch counts.  Raises OldFormat; StoreError if it cannot be
    read.
    """
    for epoch in epochs_of(store, pack):
        path = store.checkpoint(pack, epoch)
        try:
            content = read_file(path, GOES_BACK)
            if content is not None:  # else its holder has just ended or dropped it
                payload = tensors_of(content)
                if _has_old_journal(payload):
                    raise OldFormat(path, "is a checkpoint with a journal")
                return payload
        except DamagedFile as error:
            log.warning("%s", error)
        except ValueError as error:
            log.warning("%s", DamagedFile(path, f"does not hold a checkpoint that can be read: {error}", GOES_BACK))
    return None


def latest_epoch(store: Store, pack: str) -> int:
    """The highest lease epoch that left a checkpoint; -1 if none has.  Raises StoreError."""
    return max(epochs_of(store, pack), default=-1)


def _has_old_journal(payload: Mapping[str, Any]) -> bool:
    """Whether a checkpoint is older than the measures that agents declare."""
    journal = payload.get("journal")
    return isinstance(journal, Mapping) and "train_loss" in journal


def clear_pack(store: Store, pack: str) -> None:
    """Removes what an ended pack kept; a file that resists is left, for nothing will read it."""
    shutil.rmtree(store.pack_folder(pack), ignore_errors=True)


def epochs_of(store: Store, pack: str) -> list[int]:
    """The lease epochs that left a checkpoint of a pack, highest first.  Raises StoreError."""
    stem = store.checkpoint(pack, 0).stem
    found = [name.rpartition(".") for name in names(store.pack_folder(pack))]
    return sorted((int(epoch) for name, _, epoch in found if name == stem and epoch.isdecimal()), reverse=True)
