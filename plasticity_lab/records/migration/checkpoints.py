"""Checkpoints from before agents declared what they measure: a classifier's journal, in one flat mapping."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from plasticity_lab.records.checkpoint import GOES_BACK, epochs_of, has_old_journal
from plasticity_lab.records.damage import DamagedFile, read_file
from plasticity_lab.records.files import names, write_atomically
from plasticity_lab.records.migration.changed import Changed
from plasticity_lab.records.store import Store
from plasticity_lab.records.tensors import save_tensors, tensors_of

_SUMS = {"epoch": ("accuracy", "loss"), "task": ("accuracy",)}


def migrate_checkpoints(store: Store, changed: Changed, dry_run: bool) -> None:
    """Rewrites the checkpoints that an earlier version wrote.  Raises StoreError."""
    for pack in names(store.root / "packs"):
        for epoch in epochs_of(store, pack):
            path = store.checkpoint(pack, epoch)
            try:
                new = _of_today(path)
            except DamagedFile as error:
                changed.unreadable.append(str(error))
                continue
            (changed.old if new else changed.today)["checkpoint"] += 1
            if new and not dry_run:
                write_atomically(path, lambda file, new=new: save_tensors(new, file))


def _of_today(path: Path) -> dict[str, Any] | None:
    """A checkpoint as this version writes it; None where it is so already.  Raises DamagedFile; StoreError."""
    content = read_file(path, GOES_BACK)
    try:
        payload = {} if content is None else tensors_of(content)
        return payload | {"journal": translated(payload["journal"])} if has_old_journal(payload) else None
    except (ValueError, KeyError) as error:
        raise DamagedFile(path, f"does not hold a checkpoint that can be read: {error}", GOES_BACK) from error


def translated(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state as the journal of a classifier takes it now."""
    same = {name: state[name] for name in ("task", "step", "steps", "epoch", "diverged")}
    means = {
        kind: {name: {part: state[f"{kind}_{name}_{part}"] for part in ("total", "count")} for name in names}
        for kind, names in _SUMS.items()
    }
    nothing = {"marks": torch.empty((0, 5), dtype=torch.int64), "values": torch.empty((0, 0), dtype=torch.float64)}
    return {
        **same,
        "inside": int(state["epoch_loss_count"] > 0),
        "means": means,
        "last": {"loss": state["train_loss"]},
        "events": {"marks": state["marks"], "values": state["values"]},
        "episodes": nothing,
    }
