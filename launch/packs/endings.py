"""How packs ended: what their workers wrote into the store's `done` folder."""

from collections.abc import Sequence
from dataclasses import dataclass

from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping, write_mapping
from plasticity_lab.records.store import Store

UNKNOWN, REPLACED = "unknown", "replaced"
_FIELDS = {"status": str, "error": str | None, "diverged": int | None, "seconds": int | float | None}
_ADVICE = "its pack counts as ended, and the records of its runs say how"


@dataclass(frozen=True)
class Ending:
    """How a pack ended.

    status: done, failed or divided; replaced where its runs were planned anew before it ended; unknown where the file
    that said it was damaged. error: why it is not done, in a line. diverged: how many of its runs diverged. seconds: of
    training; None where it was not trained to its end, or an earlier version wrote it.
    """

    status: str
    error: str
    diverged: int
    seconds: float | None = None

    @property
    def failed(self) -> bool:
        """Whether its runs are recorded as failed."""
        return self.status == "failed"

    def as_json(self) -> dict[str, object]:
        """What the lease is finished with."""
        return {"status": self.status, "error": self.error, "diverged": self.diverged, "seconds": self.seconds}


def read_ending(store: Store, pack: str) -> Ending | None:
    """How a pack ended; None if it has not.  Raises DamagedFile; StoreError if the disk does not answer."""
    path = store.done(pack)
    value = read_mapping(path, _ADVICE)
    if value is None:
        return None
    # Earlier versions left out what there was nothing to say of.
    known = {"error": None, "diverged": None, "seconds": None, **value}
    if fault := fault_of_fields(known, _FIELDS):
        raise DamagedFile(path, fault, _ADVICE)
    return Ending(known["status"], known["error"] or "", known["diverged"] or 0, known["seconds"])


def ending_of(store: Store, pack: str) -> Ending | None:
    """The same, where a damaged file still says that the pack has ended.  Raises StoreError."""
    try:
        return read_ending(store, pack)
    except DamagedFile:
        return _UNKNOWN


def write_ending(store: Store, pack: str, ending: Ending, runs: Sequence[str]) -> None:
    """Marks a pack as ended that no worker holds.  runs: those that ended in it.  Raises StoreError."""
    write_mapping(store.done(pack), {**ending.as_json(), "runs": list(runs)})


def replace_ending(store: Store, pack: str) -> None:
    """Writes that a pack has ended, and no more, where the file that said how was set aside.  Raises StoreError."""
    write_ending(store, pack, _UNKNOWN, [])


_UNKNOWN = Ending(UNKNOWN, error="", diverged=0)
