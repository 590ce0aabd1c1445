"""Reading leases: the holder of a pack, and the time of its last touch. `leases` makes them."""

import os
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from launch.packs.owner import MEMORY, Kills, Owner, is_dead_here
from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import DamagedFile, object_of, read_as, read_mapping
from plasticity_lab.records.files import disk_errors, names, server_time
from plasticity_lab.records.store import Store

RELEASED = 0.0
"""A holder that gives a lease back sets this time of last touch. It is long ago, so the lease has run out."""
_ADVICE = "it holds until it has gone untouched too long, and then another worker takes its pack over"


@dataclass(frozen=True)
class PackState:
    """The state of a pack.

    state: waiting, leased or done. owner: the owner of its latest lease, None without one. If the pack is waiting, that
    lease has run out. age: seconds since that lease was last touched; None without a lease or if its holder gave it
    back.
    """

    state: str
    owner: Owner | None = None
    age: float | None = None

    @property
    def held(self) -> bool:
        """Whether a worker holds the pack now."""
        return self.state == "leased"


class LeaseFiles:
    """The leases of a store, for reading only. Each owner is read once, since leases do not change.

    named: called once with the error of each lease that does not name its owner.
    """

    def __init__(self, store: Store, named: Callable[[DamagedFile], object] = lambda error: None) -> None:
        self.store, self._named = store, named
        self._owners: dict[tuple[str, int], Owner | None] = {}

    def states(self, packs: Collection[str], seconds: float, reader: Owner | None = None) -> dict[str, PackState]:
        """Pack → its state.  Writes nothing that stays, and works in a read-only store.

        seconds: the time without a touch after which a lease runs out. reader: the worker that asks, or None. Leases of
        earlier starts of the reader's Slurm job count as free.  Raises StoreError.
        """
        if not packs:
            return {}
        epochs, done = self.epochs(), ended(self.store, packs)
        now = self.now() if epochs else 0.0

        def state(pack: str) -> PackState:
            epoch = epochs.get(pack)
            touched = None if epoch is None else self.touched(pack, epoch)
            if epoch is None or touched is None:
                return PackState("waiting")
            held = self.is_held(pack, epoch, touched, now, seconds, reader)
            age = None if touched == RELEASED else max(0.0, now - touched)
            return PackState("leased" if held else "waiting", self.owner(pack, epoch), age)

        return {pack: PackState("done") if pack in done else state(pack) for pack in packs}

    def held(self, packs: Collection[str], seconds: float) -> dict[str, PackState]:
        """The packs among these that workers hold, with their states (see `states`).  Raises StoreError."""
        return {pack: state for pack, state in self.states(packs, seconds).items() if state.held}

    def owners(self, pack: str) -> list[Owner]:
        """The known owners of a pack, the latest last; for an ended pack, only its last owner.  Raises StoreError."""
        path = self.store.done(pack)
        try:
            value = read_mapping(path, "")
            if value is not None:
                return [object_of(Owner, value.get("owner"))]
        except (DamagedFile, ValueError):
            return []
        epochs = sorted(epoch for name, epoch in self._all() if name == pack)
        return [owner for epoch in epochs if (owner := self.owner(pack, epoch)) is not None]

    def epochs(self) -> dict[str, int]:
        """The highest epoch of each pack that has a lease.  Raises StoreError."""
        highest: dict[str, int] = {}
        for pack, epoch in self._all():
            highest[pack] = max(epoch, highest.get(pack, 0))
        return highest

    def is_held(
        self, pack: str, epoch: int, touched: float | None, now: float, seconds: float, reader: Owner | None
    ) -> bool:
        """Whether a lease must be respected: it was touched in time, and its owner may still be alive.

        touched: the result of `touched`. now: the time on the file server's clock. seconds, reader: as for `states`.
        Raises StoreError.
        """
        if touched is None:
            return True  # its pack has just ended or been taken over; the next call will see that
        if now - touched > seconds:
            return False
        owner = self.owner(pack, epoch)
        return owner is None or not self.is_gone(owner, reader)

    def is_gone(self, owner: Owner, reader: Owner | None) -> bool:
        """Whether an owner's lease need not be respected, even if it was touched just now."""
        return (reader is not None and owner.precedes(reader)) or is_dead_here(owner)

    def touched(self, pack: str, epoch: int) -> float | None:
        """The time of a lease's last touch, in seconds; RELEASED if it was given back; None if it is gone.

        Raises StoreError.
        """
        path = self.store.lease(pack, epoch)
        with disk_errors("read", path):
            try:
                # Over NFS a plain stat may answer from a cache a minute old; opening asks the server.
                descriptor = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                return None
            try:
                return os.fstat(descriptor).st_mtime
            finally:
                os.close(descriptor)

    def owner(self, pack: str, epoch: int) -> Owner | None:
        """The maker of a lease; None if the lease is gone or does not name it.  Raises StoreError."""
        if (pack, epoch) not in self._owners:
            owner = None
            try:
                owner = read_as(Owner, self.store.lease(pack, epoch), _ADVICE)
                if owner is None:
                    return None
            except DamagedFile as error:
                self._named(error)
            self._owners[pack, epoch] = owner
        return self._owners[pack, epoch]

    def kills(self, pack: str, epoch: int) -> Kills | None:
        """The out-of-memory kills that a lease's maker counted; None if the lease has no count.  Raises StoreError."""
        try:
            return object_of(Kills, (read_mapping(self.store.lease(pack, epoch), _ADVICE) or {}).get(MEMORY))
        except (DamagedFile, ValueError):
            return None

    def now(self) -> float:
        """The time on the file server's clock; on this host's clock if the store is read-only."""
        try:
            return server_time(self.store.leases_folder)
        except StoreError:
            return time.time()

    def _all(self) -> Iterable[tuple[str, int]]:
        """Pack and epoch of every lease."""
        for name in names(self.store.leases_folder):
            pack, _, epoch = name.rpartition(".")
            if pack and epoch.isdecimal():
                yield pack, int(epoch)


def ended(store: Store, packs: Collection[str]) -> set[str]:
    """The packs among these that have ended.  Raises StoreError."""
    return set(packs) & set(names(store.done_folder))
