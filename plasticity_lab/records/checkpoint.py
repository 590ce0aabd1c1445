"""Checkpoints of unfinished packs: one file for each lease epoch; the highest complete one counts.

A worker writes under its own epoch only. If it lost its lease without noticing, it cannot overwrite a newer checkpoint.
"""

import contextlib
import logging
import shutil
from collections.abc import Mapping
from typing import Any

from plasticity_lab.records.damage import DamagedFile, NewFormat, OldFormat, read_file, tensors_of, write_file
from plasticity_lab.records.files import names
from plasticity_lab.records.store import Store

log = logging.getLogger(__name__)
FORMAT = 2
"""2: the log of a replay memory may be compressed. Checkpoints from before the first release name no format."""
GOES_BACK = "its pack goes back to an earlier checkpoint, or to its beginning"


def save_checkpoint(store: Store, pack: str, epoch: int, payload: dict[str, Any]) -> None:
    """Writes the state of a pack (tensors, numbers, strings, lists and dicts of them) under a lease epoch.

    It replaces the checkpoint of the same epoch; the latest checkpoint of an earlier epoch is kept as a fallback.
    Raises StoreError.
    """
    import torch  # takes a second, which commands that only look for checkpoints save

    write_file(store.checkpoint(pack, epoch), lambda file: torch.save({"format": FORMAT, **payload}, file))
    for older in [earlier for earlier in epochs_of(store, pack) if earlier < epoch][1:]:
        with contextlib.suppress(OSError):
            store.checkpoint(pack, older).unlink()


def load_checkpoint(store: Store, pack: str) -> dict[str, Any] | None:
    """The state of a pack from the readable checkpoint of the highest epoch, on the CPU; None without a checkpoint.

    Warns of a damaged file, and takes the next lower epoch.  Raises OtherFormat; StoreError if it cannot be read.
    """
    for epoch in epochs_of(store, pack):
        path = store.checkpoint(pack, epoch)
        try:
            content = read_file(path, GOES_BACK)
            if content is None:
                continue  # its holder has just ended or dropped it
            payload = tensors_of(content)
            if isinstance(format := payload.pop("format", 1), int) and format > FORMAT:
                raise NewFormat(path, "is a checkpoint", format, FORMAT)
            journal = payload.get("journal")
            if isinstance(journal, Mapping) and "train_loss" in journal:  # older than the measures that agents declare
                raise OldFormat(path, "is a checkpoint with a journal")
            return payload
        except DamagedFile as error:
            log.warning("%s", error)
        except ValueError as error:
            log.warning("%s", DamagedFile(path, f"does not hold a checkpoint that can be read: {error}", GOES_BACK))
    return None


def latest_epoch(store: Store, pack: str) -> int:
    """The highest lease epoch with a checkpoint; -1 without a checkpoint.  Raises StoreError."""
    return max(epochs_of(store, pack), default=-1)


def clear_pack(store: Store, pack: str) -> None:
    """Removes the files of an ended pack; a file that cannot be removed is left, and never read."""
    shutil.rmtree(store.pack_folder(pack), ignore_errors=True)


def epochs_of(store: Store, pack: str) -> list[int]:
    """The lease epochs of a pack that have a checkpoint, highest first.  Raises StoreError."""
    stem = store.checkpoint(pack, 0).stem
    parts = [name.rpartition(".") for name in names(store.pack_folder(pack))]
    return sorted((int(epoch) for name, _, epoch in parts if name == stem and epoch.isdecimal()), reverse=True)
