"""Which runs have been written to W&B: a small file for each pack attempt, never for each run.

A record names the pack attempt that made it, so what was written of an earlier attempt does not count for a later one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from plasticity_lab.records.damage import DamagedFile, read_mapping, rename_aside, write_mapping
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store

_ADVICE = "its pack's runs count as not written to W&B, and `python -m launch sync` writes them once more"


@dataclass(frozen=True)
class Destination:
    """Where runs are written to.

    online: to W&B's server; else to offline folders in the store. entity: "" is the default one of the key's owner.
    """

    online: bool
    entity: str
    project: str

    @property
    def key(self) -> str:
        """The destination in one word, as the marks name it."""
        return f"{'online' if self.online else 'offline'}:{self.entity}/{self.project}"


def destination_of(settings: TrackingSettings) -> Destination | None:
    """Where the tracking settings of a plan let its workers write; None for the store alone."""
    if settings.backend not in ("wandb_online", "wandb_offline"):
        return None
    return Destination(settings.backend == "wandb_online", settings.entity or "", settings.project)


def written(store: Store, pack: str, destination: Destination) -> set[str]:
    """The runs of a pack attempt that have been written to a destination; none if that is damaged.

    Raises StoreError.
    """
    try:
        return set(read_marks(store, pack).get(destination.key, ()))
    except DamagedFile:
        return set()  # writing a run again does no harm


def count_written(store: Store, packs: Iterable[str], destination: Destination) -> int:
    """How many runs of several pack attempts have been written to a destination.  Raises StoreError."""
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
        # A run has one offline folder: what was written for another project has been replaced.
        marks = {key: sorted({*old} - new) if key.startswith("offline:") else old for key, old in marks.items()}
    write_mapping(store.tracked(pack), marks | {destination.key: sorted({*marks.get(destination.key, ()), *new})})


def read_marks(store: Store, pack: str) -> dict[str, list[str]]:
    """`Destination.key` → the runs of a pack attempt that were written there.  Raises DamagedFile; StoreError."""
    path = store.tracked(pack)
    value = read_mapping(path, _ADVICE) or {}
    if not all(isinstance(runs, list) and all(isinstance(run, str) for run in runs) for runs in value.values()):
        raise DamagedFile(path, "does not list runs", _ADVICE)
    return value
