"""Who trains which pack: leases made of files, for many workers on a shared file system without locks.

A lease is a file `<pack>.<epoch>`, linked into place, which succeeds for one worker only. Its holder touches it now
and then. Once it has gone untouched too long, or its holder is known to be gone, another worker may link epoch + 1. No
lease is ever rewritten: an old holder that comes back finds the higher epoch and stops. The clock is the file server's.
Made for NFS, where others see a new file or a touch only when their caches expire: leases should last minutes there.
"""

import contextlib
import json
import logging
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from launch.packs.lease_files import RELEASED, LeaseFiles, PackState, ended
from launch.packs.owner import Owner
from plasticity_lab.records.files import beside, create_once, disk_errors, link_once
from plasticity_lab.records.store import Store

log = logging.getLogger(__name__)


class LostLease(Exception):
    """Another worker has taken the pack over, or it is done: whoever held it must write nothing more of it."""


class Lease:
    """One worker's right to train one pack, for as long as it keeps touching it."""

    def __init__(self, store: Store, pack: str, epoch: int, owner: Owner) -> None:
        self.pack = pack
        self.epoch = epoch
        self._store = store
        self._owner = owner

    def beat(self) -> None:
        """Says that the holder is alive.  Raises LostLease if the pack is no longer its own; StoreError."""
        self._touch(None)

    def finish(self, content: Mapping[str, Any]) -> bool:
        """Marks the pack as done; content: how it ended.  Returns False if it was marked already.

        Raises LostLease if the pack is no longer the holder's; StoreError.
        """
        self.beat()
        told = {**content, "epoch": self.epoch, "owner": self._owner.as_json()}
        first = create_once(self._store.done(self.pack), json.dumps(told).encode())
        clear_leases(self._store, self.pack, self.epoch)
        return first

    def release(self) -> None:
        """Gives the pack back, unfinished, so that another worker may take it at once.  A lost lease stays lost."""
        with contextlib.suppress(LostLease):
            self._touch((RELEASED, RELEASED))

    def _touch(self, times: tuple[float, float] | None) -> None:
        path = self._store.lease(self.pack, self.epoch)
        with disk_errors("write", path):
            lost = self._store.lease(self.pack, self.epoch + 1).exists()
            if not lost:
                try:
                    os.utime(path, times)
                except FileNotFoundError:  # who took the pack over has ended it, and removed its leases
                    lost = True
        if lost:
            raise LostLease(f"Pack {self.pack} was taken over from {self._owner}.")


class Leases:
    """The leases of a store, as one worker makes and meets them.

    seconds: how long a lease holds without being touched.  owner: who claims.
    """

    def __init__(self, store: Store, seconds: float, owner: Owner) -> None:
        self.store = store
        self.seconds = seconds
        self.owner = owner
        self._files = LeaseFiles(store)
        self._named = 0

    def claim(self, packs: Sequence[str]) -> Lease | None:
        """The first of the packs that is neither done nor held; None if there is none now.  Raises StoreError.

        Those whose last holder vanished come last: a pack that kills its workers must not take all of them from the
        other packs.
        """
        # Leases before done: a pack that ends in between has lost its lease only after it was marked.
        epochs = self._files.epochs()
        done = self.done(packs)
        content = json.dumps(self.owner.as_json()).encode()
        # One file serves as clock and as the lease of whichever pack is free.
        with beside(self.store.leases_folder / "claim", content) as claim:
            with disk_errors("read", claim):
                now = os.stat(claim).st_mtime
            free: list[str] = []
            abandoned: list[str] = []
            for pack in packs:
                epoch = epochs.get(pack)
                if pack in done or (
                    epoch is not None and self._files.is_held(pack, epoch, now, self.seconds, self.owner)
                ):
                    continue
                (free if epoch is None or not self._vanished(pack, epoch, self.owner) else abandoned).append(pack)
            self._name_damaged()
            for pack in [*free, *abandoned]:
                epoch = epochs.get(pack, -1) + 1
                if link_once(claim, self.store.lease(pack, epoch)):
                    return self._unless_done(pack, epoch)
        return None

    def vanished(self, lease: Lease, since: int) -> int:
        """How many holders of a lease's pack have gone without giving it back, after the one of epoch `since`."""
        count, next_owner = 0, self.owner
        for epoch in range(lease.epoch - 1, since, -1):
            count += self._vanished(lease.pack, epoch, next_owner)
            next_owner = self._files.owner(lease.pack, epoch) or next_owner
        return count

    def done(self, packs: Collection[str]) -> set[str]:
        """Those of the packs that have ended.  Raises StoreError."""
        return ended(self.store, packs)

    def state(self, packs: Collection[str]) -> dict[str, PackState]:
        """How each of the packs stands for this worker.  Raises StoreError."""
        return self._files.states(packs, self.seconds, self.owner)

    def inherited(self, pack: str) -> bool:
        """Whether a later start of this worker's own Slurm job has, or had, the pack.  Raises StoreError."""
        owners = self._files.owners(pack)
        return bool(owners) and self.owner.precedes(owners[-1])

    def _vanished(self, pack: str, epoch: int, next_owner: Owner) -> bool:
        """Whether the holder of a lease that has run out never gave it back, and Slurm did not restart its job.

        next_owner: who holds the pack next.
        """
        if self._files.touched(pack, epoch) in (None, RELEASED):
            return False
        owner = self._files.owner(pack, epoch)
        return owner is None or not owner.precedes(next_owner)

    def _name_damaged(self) -> None:
        """A line in the log for each lease that cannot be read, once."""
        for error in self._files.damaged[self._named :]:
            log.warning("%s", error)
        self._named = len(self._files.damaged)

    def _unless_done(self, pack: str, epoch: int) -> Lease | None:
        """The lease just made, unless the pack ended while it was being claimed."""
        if not self.store.done(pack).exists():
            return Lease(self.store, pack, epoch, self.owner)
        with contextlib.suppress(OSError):
            self.store.lease(pack, epoch).unlink()
        return None


def clear_leases(store: Store, pack: str, last: int) -> None:
    """Removes the leases of a pack that has ended, up to that of epoch `last`; one that resists is left."""
    for epoch in range(last + 1):
        with contextlib.suppress(OSError):
            store.lease(pack, epoch).unlink()
