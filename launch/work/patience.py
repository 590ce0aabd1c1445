"""What a worker does while the store is full, read-only or away: it keeps what it has in memory, and tries again.

Training goes on without a checkpoint; what cannot be done without the store (taking a pack, writing records) waits. The
lease may run out meanwhile: then whoever can reach the store takes the pack over, and this worker finds that out.
"""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from launch.packs.leases import Lease
from launch.wording import in_time, said_while
from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.store import Store
from plasticity_lab.waits import waiting

log = logging.getLogger("launch.work.worker")
LONGEST_FAULT_SECONDS = 1800.0
"""A worker whose store has not worked for this long leaves: its node may be the reason, and others can use it."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
RELEASE_PAUSES_SECONDS = (1.0, 2.0, 0.0)
LOOK_SECONDS = 0.25
"""How soon a worker that waits sees that it is to stop."""
Result = TypeVar("Result")


class Stopped(Exception):
    """The worker was asked to stop; what could be written is written."""


class Patience:
    """Does things in the store, again and again with growing pauses while it does not work.

    stop: whether the worker is to stop. meanwhile: called while it waits; what it raises ends the waiting.
    """

    def __init__(self, stop: Callable[[], bool], meanwhile: Callable[[], None] = lambda: None) -> None:
        self._stop, self._meanwhile = stop, meanwhile
        self._faults: dict[str, _Fault] = {}

    def until_done(self, what: str, act: Callable[[], Result]) -> Result:
        """What `act` returns, once the store lets it be done; it must be one that can be begun anew.

        what: as messages name it. Raises Stopped if the worker is to stop meanwhile; StoreFault when
        LONGEST_FAULT_SECONDS are over; whatever else `act` and `meanwhile` raise.
        """
        with waiting("waiting", "for the store"), said_while(f"Waits for the store ({what})", log.info):
            while True:
                try:
                    done = act()
                except StoreFault as fault:
                    self._failed(what, fault)
                else:
                    if self._faults:
                        self._worked(*self._faults)
                    return done
                while self._waits(what):
                    if self._stop():
                        raise Stopped
                    self._meanwhile()
                    time.sleep(LOOK_SECONDS)

    def tried(self, what: str, act: Callable[[], object]) -> bool:
        """Whether `act` was done. It is not tried before the pause after its last fault is over; this never waits.

        Raises StoreFault when LONGEST_FAULT_SECONDS are over; whatever else `act` raises.
        """
        if self._waits(what):
            return False
        try:
            act()
        except StoreFault as fault:
            self._failed(what, fault)
            return False
        if what in self._faults:
            self._worked(what)
        return True

    def _waits(self, what: str) -> bool:
        return what in self._faults and time.monotonic() < self._faults[what].again

    def _failed(self, what: str, fault: StoreFault) -> None:
        now = time.monotonic()
        if what not in self._faults:
            if not self._faults:
                log.warning("%s It is tried again for %s; nothing is lost.", fault, in_time(LONGEST_FAULT_SECONDS))
            self._faults[what] = _Fault(now)
        known = self._faults[what]
        if now - known.since >= LONGEST_FAULT_SECONDS:
            raise fault
        known.again = now + known.pause
        known.pause = min(2 * known.pause, LONGEST_PAUSE_SECONDS)

    def _worked(self, *what: str) -> None:
        """Forgets faults of what works again. A small file may fit where a large one does not: one says little."""
        since = [self._faults.pop(name).since for name in what]
        if not self._faults:
            log.warning("The store works again, after %s.", in_time(time.monotonic() - min(since)))


class _Fault:
    """since: when it was noticed. again: when the next attempt is due. pause: the one after that attempt."""

    def __init__(self, since: float) -> None:
        self.since = self.again = since
        self.pause = FIRST_PAUSE_SECONDS


def fault_of(store: Store) -> str:
    """What keeps the store from being written now, and what workers do about it; empty if nothing does."""
    try:
        store.try_out()
    except StoreFault as fault:
        return (
            f"{fault} Workers keep what they have in memory and try again, for {in_time(LONGEST_FAULT_SECONDS)} at "
            "most; then they leave their packs to others."
        )
    return ""


def give_back(lease: Lease) -> None:
    """Releases a lease; where the store does not let it be done it runs out by itself."""
    for pause in RELEASE_PAUSES_SECONDS:
        try:
            return lease.release()
        except StoreFault:
            time.sleep(pause)
        except StoreError:
            return None
    return None
