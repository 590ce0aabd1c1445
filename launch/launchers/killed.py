"""Workers of this machine that are killed on the same pack one after another: it is too large for the memory there is.

Whoever starts workers sees how they end, which a worker that is killed cannot say. A first one that is killed is not
replaced: it may have been a person's doing.
"""

from launch.packs.lease_files import LeaseFiles
from launch.packs.leases import Lease, Leases
from launch.packs.owner import this_owner
from launch.plan.device import limited_memory
from launch.wording import in_bytes
from plasticity_lab.errors import StoreError
from plasticity_lab.records.checkpoint import latest_epoch
from plasticity_lab.records.store import Store


class Killed:
    """What one command knows of its workers that were ended by SIGKILL.  again: whether packs were given up for it."""

    def __init__(self, store: Store, lease_seconds: float) -> None:
        self.store, self.seconds, self.again = store, lease_seconds, False

    def calls_for_another(self, pid: int) -> str:
        """Why another worker is to be started in place of one that was killed; nothing where none is.

        That one looks back, and divides the pack. A store that does not answer calls for none.
        """
        from launch.work.failures import DIVIDED_AFTER  # torch: commands that start no worker need not wait for it

        try:
            held = self._held_by(pid)
            times = 0 if held is None else self._times(*held)
        except StoreError:
            return ""
        if held is None:
            return ""
        if times < DIVIDED_AFTER and not self.again:
            return ""
        self.again = True
        limit = limited_memory()
        limited = f" (here all processes together may use {in_bytes(limit)})" if limit is not None else ""
        workers = "1 worker was" if times == 1 else f"{times} workers in turn were"
        ended = f"{workers} ended by SIGKILL on pack {held[0]}, as happens where memory runs out{limited}"
        return f"{ended}: another begins."

    def _held_by(self, pid: int) -> tuple[str, int] | None:
        """The pack that a process of this machine held, and the epoch of its lease."""
        files, here = LeaseFiles(self.store), this_owner().host
        for pack, epoch in files.epochs().items():
            owner = files.owner(pack, epoch)
            if owner is not None and (owner.host, owner.pid) == (here, pid):
                return pack, epoch
        return None

    def _times(self, pack: str, epoch: int) -> int:
        """How many holders in turn have vanished from a pack since its last checkpoint."""
        me = this_owner()
        following = Lease(self.store, pack, epoch + 1, me)
        return Leases(self.store, self.seconds, me).vanished(following, latest_epoch(self.store, pack))[0]
