"""How packs ended: the files that their workers write into the store's `done` folder."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from launch.packs.lease_files import LeaseFiles
from launch.packs.leases import clear_leases
from launch.packs.run_claims import clear_claims
from plasticity_lab.records.checkpoint import clear_pack
from plasticity_lab.records.damage import DamagedFile, read_as, write_mapping
from plasticity_lab.records.store import Store

UNKNOWN, REPLACED = "unknown", "replaced"
_ADVICE = "its pack counts as ended, and the records of its runs say how"


@dataclass(frozen=True)
class Ending:
    """How a pack ended.

    status: done, failed or divided; replaced if its runs were planned again before it ended; unknown if its file was
    damaged. error: the reason why it is not done, in one line. diverged: the number of its runs that diverged.
    seconds: training time; None if it was not trained to its end, or if an earlier version trained it.
    """

    status: str
    error: str = ""
    diverged: int = 0
    seconds: float | None = None

    @property
    def failed(self) -> bool:
        """Whether the records of its runs say failed."""
        return self.status == "failed"


def read_ending(store: Store, pack: str) -> Ending | None:
    """How a pack ended; None if it has not.  Raises DamagedFile; StoreError if the disk does not answer."""
    return read_as(Ending, store.done(pack), _ADVICE)


def ending_of(store: Store, pack: str) -> Ending | None:
    """As `read_ending`, but a damaged file gives the status unknown.  Raises StoreError."""
    try:
        return read_ending(store, pack)
    except DamagedFile:
        return Ending(UNKNOWN)


def write_ending(store: Store, pack: str, ending: Ending, runs: Sequence[str]) -> None:
    """Marks a pack that no worker holds as ended.  runs: the runs that ended in it.  Raises StoreError."""
    write_mapping(store.done(pack), {**asdict(ending), "runs": list(runs)})


def end_unheld(store: Store, pack: str, ending: Ending, ended: Sequence[str], claimed: Sequence[str]) -> None:
    """Marks a pack that no worker holds as ended; removes its leases, checkpoints and claims.  Raises StoreError.

    ended: the runs that ended in it. claimed: the runs that it may have claimed.
    """
    write_ending(store, pack, ending, ended)
    clear_leases(store, pack, last=LeaseFiles(store).epochs().get(pack, -1))
    clear_pack(store, pack)
    clear_claims(store, pack, claimed)
