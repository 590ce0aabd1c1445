"""Which runs have been written to W&B: a small file for each pack attempt, never for each run.

A record names the pack attempt that made it, so what was written of an earlier attempt does not count for a later one.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from plasticity_lab.records.files import read, write_json
from plasticity_lab.records.store import Store


@dataclass(frozen=True)
class Place:
    """Where runs are written to.  online: W&B's server; else offline folders in the store.  entity "": the default."""

    online: bool
    entity: str
    project: str

    @property
    def key(self) -> str:
        """The place in one word."""
        return f"{'online' if self.online else 'offline'}:{self.entity}/{self.project}"


def written(store: Store, pack: str, place: Place) -> set[str]:
    """The runs of a pack attempt that have been written to a place.  Raises StoreError."""
    return set(_marks(store, pack).get(place.key, ()))


def mark_written(store: Store, pack: str, place: Place, runs: Iterable[str]) -> None:
    """Notes that runs of a pack attempt have been written.  Raises StoreError.

    Of two that note at the same moment one may be lost: its runs are written once more then, to the same ids.
    """
    marks, new = _marks(store, pack), set(runs)
    if not place.online:
        # A run has one offline folder: what was written for another project has been replaced.
        marks = {key: sorted({*old} - new) if key.startswith("offline:") else old for key, old in marks.items()}
    write_json(store.tracked(pack), marks | {place.key: sorted({*marks.get(place.key, ()), *new})})


def _marks(store: Store, pack: str) -> dict[str, list[str]]:
    content = read(store.tracked(pack))
    try:
        value = {} if content is None else json.loads(content)
    except ValueError:
        value = {}
    # What is damaged counts for nothing: writing a run again does no harm.
    return value if isinstance(value, dict) else {}
