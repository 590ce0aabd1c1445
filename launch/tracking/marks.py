"""Which runs have been written to W&B: a small file for each pack attempt, never for each run.

A record names the pack attempt that made it, so what was written of an earlier attempt does not count for a later one.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from plasticity_lab.records.files import read, write_json
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store


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
    """The runs of a pack attempt that have been written to a destination.  Raises StoreError."""
    return set(_marks(store, pack).get(destination.key, ()))


def count_written(store: Store, packs: Iterable[str], destination: Destination) -> int:
    """How many runs of several pack attempts have been written to a destination.  Raises StoreError."""
    return sum(len(written(store, pack, destination)) for pack in packs)


def mark_written(store: Store, pack: str, destination: Destination, runs: Iterable[str]) -> None:
    """Notes that runs of a pack attempt have been written.  Raises StoreError.

    If two processes note at the same moment, one note may be lost: its runs are written again, under the same ids.
    """
    marks, new = _marks(store, pack), set(runs)
    if not destination.online:
        # A run has one offline folder: what was written for another project has been replaced.
        marks = {key: sorted({*old} - new) if key.startswith("offline:") else old for key, old in marks.items()}
    write_json(store.tracked(pack), marks | {destination.key: sorted({*marks.get(destination.key, ()), *new})})


def _marks(store: Store, pack: str) -> dict[str, list[str]]:
    """Key of a destination → the runs written there."""
    content = read(store.tracked(pack))
    try:
        value = {} if content is None else json.loads(content)
    except ValueError:
        value = {}
    # A damaged file counts as empty: writing a run again does no harm.
    return value if isinstance(value, dict) else {}
