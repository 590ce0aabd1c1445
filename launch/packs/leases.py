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
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launch.packs.owner import Owner, is_dead_here
from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import beside, create_once, disk_errors, link_once, names, read, server_time
from plasticity_lab.records.store import Store

log = logging.getLogger(__name__)

_RELEASED = 0.0
"""The time of last touch, long ago, that a holder sets when it gives a lease back: then it has run out."""


class LostLease(Exception):
    """Another worker has taken the pack over, or it is done: whoever held it must write nothing more of it."""


@dataclass(frozen=True)
class PackState:
    """How a pack stands: waiting for a worker, leased or done.

    owner and age (seconds since it was last touched) are those of its latest lease, None where it has none; a waiting
    pack may have one that ran out.
    """

    state: str
    owner: Owner | None = None
    age: float | None = None

    @property
    def held(self) -> bool:
        """Whether a worker holds it now."""
        return self.state == "leased"


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
        """Marks the pack as done, with what is to be said of it; False if it was marked already.

        Raises LostLease if the pack is no longer the holder's; StoreError.
        """
        self.beat()
        ended = {**content, "epoch": self.epoch, "owner": self._owner.as_json()}
        first = create_once(self._store.done(self.pack), json.dumps(ended).encode())
        for epoch in range(self.epoch + 1):
            with contextlib.suppress(OSError):
                self._store.lease(self.pack, epoch).unlink()
        return first

    def release(self) -> None:
        """Gives the pack back, unfinished, so that another worker may take it at once.  A lost lease stays lost."""
        with contextlib.suppress(LostLease):
            self._touch((_RELEASED, _RELEASED))

    def _touch(self, times: tuple[float, float] | None) -> None:
        path = self._store.lease(self.pack, self.epoch)
        with disk_errors("write", path):
            lost = self._store.lease(self.pack, self.epoch + 1).exists()
            if not lost:
                try:
                    os.utime(path, times)
                except FileNotFoundError:  # an heir has ended the pack and cleared its leases away
                    lost = True
        if lost:
            raise LostLease(f"Pack {self.pack} was taken over from {self._owner}.")


class Leases:
    """The leases of a store, as one worker sees them.

    seconds: how long a lease holds without being touched.  owner: who claims.
    """

    def __init__(self, store: Store, seconds: float, owner: Owner) -> None:
        self.store = store
        self.seconds = seconds
        self.owner = owner
        self._owners: dict[Path, Owner | None] = {}

    def claim(self, packs: Sequence[str]) -> Lease | None:
        """The first of the packs that is neither done nor held; None if there is none now.  Raises StoreError.

        Those whose holder has vanished come last: a pack that ends its workers must not take all of them from the rest.
        """
        # Leases before done: a pack that ends in between has lost its lease only after it was marked.
        epochs = self._epochs()
        done = self.done(packs)
        content = json.dumps(self.owner.as_json()).encode()
        # One file serves as clock and as the lease of whichever pack is free.
        with beside(self.store.leases_folder / "claim", content) as claim:
            with disk_errors("read", claim):
                now = os.stat(claim).st_mtime
            free: list[str] = []
            forsaken: list[str] = []
            for pack in packs:
                epoch = epochs.get(pack)
                if pack in done or (epoch is not None and self._is_held(pack, epoch, now)):
                    continue
                (free if epoch is None or not self._vanished(pack, epoch, self.owner) else forsaken).append(pack)
            for pack in [*free, *forsaken]:
                epoch = epochs.get(pack, -1) + 1
                if link_once(claim, self.store.lease(pack, epoch)):
                    return self._unless_done(pack, epoch)
        return None

    def vanished(self, lease: Lease, since: int) -> int:
        """How many holders of a lease's pack have gone without giving it back, after the one of epoch `since`."""
        count, heir = 0, self.owner
        for epoch in range(lease.epoch - 1, since, -1):
            count += self._vanished(lease.pack, epoch, heir)
            heir = self._owner(self.store.lease(lease.pack, epoch)) or heir
        return count

    def done(self, packs: Collection[str]) -> set[str]:
        """Those of the packs that have ended.  Raises StoreError."""
        return set(packs) & set(names(self.store.done_folder))

    def state(self, packs: Collection[str]) -> dict[str, PackState]:
        """How each of the packs stands.  Writes nothing that stays, and works where nothing can be written."""
        epochs, done = self._epochs(), self.done(packs)
        now = self._now() if epochs else 0.0
        return {pack: PackState("done") if pack in done else self._state(pack, epochs.get(pack), now) for pack in packs}

    def inherited(self, pack: str) -> bool:
        """Whether a later start of this worker's own Slurm job has, or had, the pack.  Raises StoreError."""
        owners = self.owners(pack)
        return bool(owners) and self.owner.precedes(owners[-1])

    def owners(self, pack: str) -> list[Owner]:
        """Who has had a pack, as far as it can be told, the latest last; of an ended one, who ended it.

        Raises StoreError.
        """
        content = read(self.store.done(pack))
        if content is not None:
            try:
                return [Owner.from_json(json.loads(content)["owner"])]
            except (ValueError, TypeError, KeyError):
                return []
        epochs = sorted(epoch for name, epoch in _parsed(names(self.store.leases_folder)) if name == pack)
        had = [self._owner(self.store.lease(pack, epoch)) for epoch in epochs]
        return [owner for owner in had if owner is not None]

    def _now(self) -> float:
        """The file server's clock; where nothing can be written, this host's has to do."""
        try:
            return server_time(self.store.leases_folder)
        except StoreError:
            return time.time()

    def _state(self, pack: str, epoch: int | None, now: float) -> PackState:
        touched = None if epoch is None else self._touched(pack, epoch)
        if epoch is None or touched is None:
            return PackState("waiting")
        state = "leased" if self._is_held(pack, epoch, now) else "waiting"
        owner = self._owner(self.store.lease(pack, epoch))
        return PackState(state, owner, None if touched == _RELEASED else max(0.0, now - touched))

    def _is_held(self, pack: str, epoch: int, now: float) -> bool:
        """Whether a lease must be respected: touched in time, by an owner that may still be alive."""
        touched = self._touched(pack, epoch)
        if touched is None:
            return True  # it has just ended or been taken over; the next look will tell
        if now - touched > self.seconds:
            return False
        owner = self._owner(self.store.lease(pack, epoch))
        return owner is None or not (owner.precedes(self.owner) or is_dead_here(owner))

    def _vanished(self, pack: str, epoch: int, heir: Owner) -> bool:
        """Whether the holder of a lease that has run out never gave it back, and Slurm did not restart its job."""
        if self._touched(pack, epoch) in (None, _RELEASED):
            return False
        owner = self._owner(self.store.lease(pack, epoch))
        return owner is None or not owner.precedes(heir)

    def _touched(self, pack: str, epoch: int) -> float | None:
        """When a lease was last touched; None if it is gone."""
        path = self.store.lease(pack, epoch)
        with disk_errors("read", path):
            try:
                # Over NFS a plain stat may answer from a cache a minute old; opening asks the server.
                with open(path, "rb") as file:
                    return os.fstat(file.fileno()).st_mtime
            except FileNotFoundError:
                return None

    def _owner(self, path: Path) -> Owner | None:
        """Who wrote a lease, read once since leases do not change; None if it cannot be told."""
        if path not in self._owners:
            content = read(path)
            if content is None:
                return None
            try:
                self._owners[path] = Owner.from_json(json.loads(content))
            except (ValueError, TypeError):
                log.warning("%s is damaged; it holds until it runs out.", path)
                self._owners[path] = None
        return self._owners[path]

    def _epochs(self) -> dict[str, int]:
        """The highest epoch of each pack that has a lease."""
        highest: dict[str, int] = {}
        for pack, epoch in _parsed(names(self.store.leases_folder)):
            highest[pack] = max(epoch, highest.get(pack, 0))
        return highest

    def _unless_done(self, pack: str, epoch: int) -> Lease | None:
        """The lease just made, unless the pack ended while it was being claimed."""
        if not self.store.done(pack).exists():
            return Lease(self.store, pack, epoch, self.owner)
        with contextlib.suppress(OSError):
            self.store.lease(pack, epoch).unlink()
        return None


def _parsed(files: Iterable[str]) -> Iterable[tuple[str, int]]:
    for name in files:
        pack, _, epoch = name.rpartition(".")
        if pack and epoch.isdecimal():
            yield pack, int(epoch)
