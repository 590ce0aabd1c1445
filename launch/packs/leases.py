"""Leases of packs, made of files, for many workers on a shared file system without locks.

A lease is a file `<pack>.<epoch>`. A worker makes it with a hard link, which succeeds for one worker only. The holder
touches it now and then. If it stays untouched for too long, or its holder is known to be gone, another worker may link
epoch + 1. No lease is ever rewritten: an old holder that comes back finds the higher epoch and stops. All times are
from the file server's clock. The design fits NFS: other clients see a new file or a touch only when their caches
expire. So leases on NFS should last minutes.
"""

import contextlib
import json
import logging
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from launch.packs.lease_files import RELEASED, LeaseFiles, PackState, ended
from launch.packs.owner import MEMORY, Kills, Owner, oom_kills
from plasticity_lab.records.files import beside, create_once, disk_errors, link_once, names, seen, stands
from plasticity_lab.records.store import Store

log = logging.getLogger(__name__)
ENDED_IN_A_ROW = 16
"""After this many ended packs in a row, the folder that names all ended packs is listed again."""


class LostLease(Exception):
    """Another worker has taken the pack over, or it is done. The former holder must write nothing more for it."""


class Lease:
    """One worker's right to train one pack, valid while the worker keeps touching the lease."""

    def __init__(self, store: Store, pack: str, epoch: int, owner: Owner) -> None:
        self.pack = pack
        self.epoch = epoch
        self._store = store
        self._owner = owner

    def beat(self, surely: bool = False) -> None:
        """Shows that the holder is alive.  Raises LostLease if another worker has the pack; StoreError.

        surely: asks the file server itself. Otherwise a later lease may stay unseen over NFS for up to a minute.
        """
        self._touch(None, stands if surely else seen)

    def finish(self, content: Mapping[str, Any]) -> bool:
        """Marks the pack as done.  content: its ending.  Returns False if it was marked already.

        Raises LostLease if another worker has the pack; StoreError.
        """
        self.beat(surely=True)
        ending = {**content, "epoch": self.epoch, "owner": asdict(self._owner)}
        first = create_once(self._store.done(self.pack), json.dumps(ending).encode())
        clear_leases(self._store, self.pack, self.epoch)
        return first

    def release(self) -> None:
        """Gives the pack back, unfinished, so that another worker may take it at once.  A lost lease stays lost."""
        with contextlib.suppress(LostLease):
            self._touch((RELEASED, RELEASED), seen)

    def _touch(self, times: tuple[float, float] | None, there: Callable[[Path], bool]) -> None:
        path = self._store.lease(self.pack, self.epoch)
        lost = there(self._store.lease(self.pack, self.epoch + 1))
        with disk_errors("write", path):
            if not lost:
                try:
                    os.utime(path, times)
                except FileNotFoundError:  # a worker that took the pack over has ended it, and removed its leases
                    lost = True
        if lost:
            raise LostLease(f"Pack {self.pack} was taken over from {self._owner}.")


class Leases:
    """The leases of a store, for one worker.  seconds: the time untouched until a lease runs out. owner: the worker."""

    def __init__(self, store: Store, seconds: float, owner: Owner) -> None:
        self.store = store
        self.seconds = seconds
        self.owner = owner
        self._files = LeaseFiles(store, lambda error: log.warning("%s", error))
        self._ended: set[str] = set()
        self._held_until: dict[tuple[str, int], float] = {}

    def claim(self, packs: Sequence[str], wanted: Callable[[str], bool] = lambda pack: True) -> Lease | None:
        """A lease of the first pack that has not ended, is not held, and is wanted; None if no pack is free now.

        A pack comes last if its last holder vanished. Otherwise a pack that kills its workers could take all of them
        from the other packs. If all packs are held, few files are opened, since hundreds of workers may wait.
        Raises StoreError.
        """
        # Leases before endings: a pack that ends in between loses its lease only after it is marked.
        epochs = self._files.epochs()
        now = time.monotonic()
        self._held_until = {key: until for key, until in self._held_until.items() if epochs.get(key[0]) == key[1]}
        candidates = [pack for pack in packs if pack not in self._ended and self._may_be_free(pack, epochs, now)]
        if not candidates:
            return None
        kills = oom_kills()
        content = json.dumps(asdict(self.owner) | ({MEMORY: asdict(kills)} if kills else {})).encode()
        # One file serves as the clock and as the lease of any free pack.
        with beside(self.store.leases_folder / "claim", content) as claim:
            with disk_errors("read", claim):
                server = os.stat(claim).st_mtime
            abandoned: list[str] = []
            in_a_row = 0
            for pack in candidates:
                if self._has_ended(pack, in_a_row):
                    in_a_row += 1
                    continue
                in_a_row, epoch = 0, epochs.get(pack)
                if epoch is not None and self._is_held(pack, epoch, server):
                    continue
                if not wanted(pack):
                    continue
                if epoch is not None and self._vanished(pack, epoch, self.owner):
                    abandoned.append(pack)
                elif (lease := self._linked(claim, pack, epochs)) is not None:
                    return lease
            for pack in abandoned:
                if (lease := self._linked(claim, pack, epochs)) is not None:
                    return lease
        return None

    def left(self, packs: Collection[str]) -> list[str]:
        """The packs that are not known to have ended.  Reads no file: `done` and `claim` find the ended ones."""
        return [pack for pack in packs if pack not in self._ended]

    def holds(self, pack: str) -> bool:
        """Whether any worker, this one included, holds a pack now.  Raises StoreError."""
        epoch = self._files.epochs().get(pack)
        if epoch is None:
            return False
        touched = self._files.touched(pack, epoch)
        return self._files.is_held(pack, epoch, touched, self._files.now(), self.seconds, None)

    def vanished(
        self, lease: Lease, since: int, died: Callable[[Owner], bool] = lambda owner: False
    ) -> tuple[int, int]:
        """The number of earlier holders of a lease's pack, after epoch `since`, that vanished without giving it back.

        Also returns how many of them were evidently killed because memory ran out: this machine counts such kills, and
        `died` may know of more.
        """
        count = of_memory = 0
        next_owner, next_kills = self.owner, oom_kills()
        for epoch in range(lease.epoch - 1, since, -1):
            owner, kills = self._files.owner(lease.pack, epoch), self._files.kills(lease.pack, epoch)
            if self._vanished(lease.pack, epoch, next_owner):
                count += 1
                of_memory += Kills.came(kills, next_kills) or (owner is not None and died(owner))
            next_owner, next_kills = owner or next_owner, kills or next_kills
        return count, of_memory

    def done(self, packs: Collection[str]) -> set[str]:
        """The packs among these that have ended.  Raises StoreError."""
        done = ended(self.store, packs)
        self._ended |= done
        return done

    def state(self, packs: Collection[str]) -> dict[str, PackState]:
        """Pack → its state for this worker.  Raises StoreError."""
        return self._files.states(packs, self.seconds, self.owner)

    def inherited(self, pack: str) -> bool:
        """Whether a later start of this worker's Slurm job has, or had, the pack.  Raises StoreError."""
        owners = self._files.owners(pack)
        return bool(owners) and self.owner.precedes(owners[-1])

    def _vanished(self, pack: str, epoch: int, next_owner: Owner) -> bool:
        """Whether the holder of a lease that has run out never gave it back, and Slurm did not restart its job.

        next_owner: the next holder of the pack.
        """
        if self._files.touched(pack, epoch) in (None, RELEASED):
            return False
        owner = self._files.owner(pack, epoch)
        return owner is None or not owner.precedes(next_owner)

    def _may_be_free(self, pack: str, epochs: Mapping[str, int], now: float) -> bool:
        """Whether a pack may be free, by its lease when it was last read. Only then are files opened."""
        epoch = epochs.get(pack)
        if epoch is None or now >= self._held_until.get((pack, epoch), 0.0):
            return True
        owner = self._files.owner(pack, epoch)
        return owner is not None and self._files.is_gone(owner, self.owner)

    def _is_held(self, pack: str, epoch: int, server: float) -> bool:
        """Whether a lease must be respected.  server: the file server's time now.

        If so, it is not read again until it may have run out, or half of `seconds` has passed.
        """
        touched = self._files.touched(pack, epoch)
        if not self._files.is_held(pack, epoch, touched, server, self.seconds, self.owner):
            return False
        if touched is not None:
            # A holder that gives its pack back is noticed after half the time too.
            still = min(self.seconds - (server - touched), self.seconds / 2)
            self._held_until[pack, epoch] = time.monotonic() + max(0.0, still)
        return True

    def _has_ended(self, pack: str, in_a_row: int) -> bool:
        """Whether a pack has ended.  in_a_row: the number of ended packs just before."""
        if pack in self._ended:
            return True
        if in_a_row == ENDED_IN_A_ROW:
            self._ended.update(names(self.store.done_folder))
        elif seen(self.store.done(pack)):
            self._ended.add(pack)
        return pack in self._ended

    def _linked(self, claim: Path, pack: str, epochs: Mapping[str, int]) -> Lease | None:
        """The next lease of a pack, linked from the complete file `claim`.

        None if another worker was faster, or the pack has just ended.
        """
        epoch = epochs.get(pack, -1) + 1
        if not link_once(claim, self.store.lease(pack, epoch)):
            return None
        if not stands(self.store.done(pack)):
            return Lease(self.store, pack, epoch, self.owner)
        self._ended.add(pack)
        with contextlib.suppress(OSError):
            self.store.lease(pack, epoch).unlink()
        return None


def clear_leases(store: Store, pack: str, last: int) -> None:
    """Removes the leases of a pack that has ended, up to epoch `last`; a file that cannot be removed stays."""
    for epoch in range(last + 1):
        with contextlib.suppress(OSError):
            store.lease(pack, epoch).unlink()
