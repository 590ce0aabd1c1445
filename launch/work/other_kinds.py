"""Packs that were begun on a kind of device of which no worker is left: they are trained anew, so that none waits for
ever.

A worker with nothing else to do looks for them. While somebody of their kind holds a pack of the sweep, or a job of it
waits that may get such a device, they are left. A worker of their kind that waits takes them within seconds: so they
must have been free for a while.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Sequence

from launch.packs.bindings import kinds_at_work, steps_kept
from launch.packs.lease_files import LeaseFiles
from launch.packs.leases import Leases, LostLease
from launch.packs.other_kinds import Anew, said_of_anew
from launch.work.binding import Binder
from launch.work.recording import put_in_place
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.store import Store

log = logging.getLogger("launch.work.worker")
FREE_SECONDS = 30.0
"""How long such a pack must have been free, or one lease, where that is shorter: workers that wait look more often."""

MayCome = Callable[[], bool]
"""Whether workers of the sweep wait to be started, on whatever device they are given; may take some seconds."""


def nobody() -> bool:
    """None does."""
    return False


class OtherKinds:
    """What one worker knows of packs that were begun on other kinds."""

    def __init__(self, store: Store, leases: Leases, binder: Binder, may_come: MayCome = nobody) -> None:
        self.store, self.leases, self.binder, self.may_come = store, leases, binder, may_come
        self._free_since: dict[str, float] = {}

    def train_anew(self, packs: Sequence[Pack]) -> bool:
        """Puts new packs in the place of those that nobody will go on with; whether there were any.

        packs: all that are left.  Raises StoreError.
        """
        now = time.monotonic()
        without = self._without_workers(packs)
        self._free_since = {pack.id: self._free_since.get(pack.id, now) for pack in without}
        wait = min(FREE_SECONDS, self.leases.seconds)
        ripe = {pack.id: pack for pack in without if now - self._free_since[pack.id] >= wait}
        if not ripe or self.may_come():
            return False
        done = []
        while (lease := self.leases.claim(list(ripe), lambda pack: not self.binder.takes(ripe[pack]))) is not None:
            pack = ripe.pop(lease.pack)
            bound = self.binder.binding(pack)
            anew = Anew(bound.kind if bound else pack.kind, pack.width, steps_kept(self.store, pack.id))
            with contextlib.suppress(LostLease):  # somebody else does it
                put_in_place(self.store, pack, lease, f"begun on {anew.kind}, of which no worker is left")
                done.append(anew)
        if done:
            log.warning("%s", said_of_anew(done, self.binder.kind))
        return bool(done)

    def _without_workers(self, packs: Sequence[Pack]) -> list[Pack]:
        """Packs bound to other kinds that nobody holds, of kinds of which nobody holds any pack of the sweep."""
        if all(map(self.binder.takes, packs)):
            return []
        held, kinds = kinds_at_work(LeaseFiles(self.store), list(packs), self.leases.seconds)
        found = []
        for pack in packs:
            if pack.id not in held and not self.binder.takes(pack):
                bound = self.binder.binding(pack)
                found += [pack] if bound is None or bound.kind not in kinds else []
        return found
