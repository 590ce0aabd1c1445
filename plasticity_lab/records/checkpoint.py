"""Checkpoints of unfinished packs: one file for each lease epoch, of which the highest complete one counts.

A worker writes under its own epoch only, so one that lost its lease without knowing cannot overwrite a newer one.
"""

import contextlib
import io
import logging
import shutil
import zipfile
from typing import Any

import torch

from plasticity_lab.records.files import names, read, write_atomically
from plasticity_lab.records.store import Store

log = logging.getLogger(__name__)


def save_checkpoint(store: Store, pack: str, epoch: int, payload: dict[str, Any]) -> None:
    """Writes the state of a pack (tensors, numbers, words, lists and dicts of them) under a lease epoch.

    It replaces the one of the same epoch; of the earlier ones the latest stays to fall back on.  Raises StoreError.
    """
    write_atomically(store.checkpoint(pack, epoch), lambda file: torch.save(payload, file))
    for older in [earlier for earlier in _epochs(store, pack) if earlier < epoch][1:]:
        with contextlib.suppress(OSError):
            store.checkpoint(pack, older).unlink()


def load_checkpoint(store: Store, pack: str) -> dict[str, Any] | None:
    """The state of a pack at its highest complete epoch, on the CPU; None if there is none.

    A damaged file is named in a warning, and the next lower epoch counts.  Raises StoreError if it cannot be read.
    """
    for epoch in _epochs(store, pack):
        content = read(store.checkpoint(pack, epoch))
        if content is None:  # its holder has just ended or dropped it
            continue
        try:
            return _loaded(content)
        except MemoryError:
            raise
        except Exception as error:  # damaged bytes raise nearly anything
            reason = str(error).partition("\n")[0] or type(error).__name__
            log.warning("%s is damaged (%s); going back to an earlier one.", store.checkpoint(pack, epoch), reason)
    return None


def latest_epoch(store: Store, pack: str) -> int:
    """The highest lease epoch that left a checkpoint; -1 if none has.  Raises StoreError."""
    return max(_epochs(store, pack), default=-1)


def clear_pack(store: Store, pack: str) -> None:
    """Removes what an ended pack kept; a file that resists is left, for nothing will read it."""
    shutil.rmtree(store.pack_folder(pack), ignore_errors=True)


def _epochs(store: Store, pack: str) -> list[int]:
    """The lease epochs that left a checkpoint, highest first."""
    stem = store.checkpoint(pack, 0).stem
    found = [name.rpartition(".") for name in names(store.pack_folder(pack))]
    return sorted((int(epoch) for name, _, epoch in found if name == stem and epoch.isdecimal()), reverse=True)


def _loaded(content: bytes) -> dict[str, Any]:
    # torch.load does not compare the checksums that torch.save wrote: flipped bits would become numbers.
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if damaged := archive.testzip():
            raise ValueError(f"wrong checksum of {damaged}")
    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
