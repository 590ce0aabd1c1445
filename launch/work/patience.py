"""How a worker waits and stops: its lease, a store that is full, read-only or unreachable, and the signal to stop.

While the store does not work, training continues without a checkpoint. Steps that need the store (taking a pack,
writing records) wait. If the lease runs out during that wait, another worker that can reach the store takes the pack
over.
"""

import contextlib
import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from launch.packs.leases import Lease, LostLease
from launch.wording import in_time, said_while
from plasticity_lab.errors import StoreError
from plasticity_lab.process.beside import beside
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.store import Store
from plasticity_lab.waits import waiting

log = logging.getLogger("launch.work.worker")
LONGEST_FAULT_SECONDS = 1800.0
"""A worker leaves if its store has not worked for this long: its node may be the reason."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
RELEASE_PAUSES_SECONDS = (1.0, 2.0, 0.0)
LOOK_SECONDS = 0.25
"""How soon a waiting worker notices that it is to stop."""
NOTICE_SECONDS = 60.0
"""Time for last checkpoints after Ctrl-C, before the command that started the workers ends them."""
BEATS_A_LEASE = 10
AGAIN_SECONDS = 1.0
"""Pause before a touch is repeated after a full, read-only or unreachable store has refused it."""
LONGEST_STEP_SECONDS = 1800.0
"""A worker without a sign of life for this long hangs; its lease is left to run out."""
Result = TypeVar("Result")


class Stopped(Exception):
    """The worker was asked to stop; everything that could be written is written."""


class StopSignal:
    """Whether a worker of a local sweep is to stop: after SIGINT or SIGTERM, or when its parent is gone."""

    def __init__(self, parent: int | None) -> None:
        self.parent = parent
        self.received = False
        self._at = math.inf
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._receive)

    def __call__(self) -> bool:
        """True once it is time to checkpoint and leave."""
        return self.received or (self.parent is not None and os.getppid() != self.parent)

    def seconds_left(self) -> float:
        """Seconds until the parent ends this process; infinite if the parent is gone, or no signal has come."""
        waits = self.received and self.parent is not None and os.getppid() == self.parent
        return self._at + NOTICE_SECONDS - time.monotonic() if waits else math.inf

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if not self.received:
            self.received, self._at = True, time.monotonic()


def seconds_left(stop: Callable[[], bool]) -> float:
    """Seconds until a worker is ended; infinite if its `stop` has no method of this name."""
    known: Callable[[], float] | None = getattr(stop, "seconds_left", None)
    return math.inf if known is None else known()


class Heartbeat:
    """Touches a lease again and again while the worker shows signs of life, also after faults of the store.

    seconds: how long the lease holds untouched.
    """

    def __init__(self, lease: Lease, seconds: float) -> None:
        self._lease, self._every = lease, seconds / BEATS_A_LEASE
        self._seen = time.monotonic()
        self._ended: LostLease | StoreError | None = None

    def alive(self) -> None:
        """A sign of life.  Raises LostLease if another worker has taken the pack over; StoreError."""
        self._seen = time.monotonic()
        if self._ended is not None:
            raise self._ended

    def beating(self) -> contextlib.AbstractContextManager[None]:
        """Touches the lease on another thread during a `with` block."""
        return beside(f"heartbeat of {self._lease.pack}", self._beat)

    def _beat(self, over: threading.Event) -> None:
        """Touches the lease until `over` is set, or the lease is lost."""
        pause = self._every
        while not over.wait(pause):
            pause = self._every
            if time.monotonic() - self._seen > LONGEST_STEP_SECONDS:
                continue
            try:
                self._lease.beat()
            except StoreFault:
                pause = min(self._every, AGAIN_SECONDS)  # the store may work again before the lease runs out
            except (LostLease, StoreError) as error:
                self._ended = error
                return


class Patience:
    """Repeats actions in the store, with growing pauses, while the store does not work.

    stop: whether the worker is to stop. meanwhile: called during waits; its exceptions end the wait.
    """

    def __init__(self, stop: Callable[[], bool], meanwhile: Callable[[], None] = lambda: None) -> None:
        self._stop, self._meanwhile = stop, meanwhile
        self._faults: dict[str, _Fault] = {}

    def until_done(self, what: str, act: Callable[[], Result]) -> Result:
        """Repeats `act` until the store works; returns its result.  `act` must be safe to start again.

        what: the name of the action in messages. Raises Stopped if the worker is told to stop during a wait; StoreFault
        after LONGEST_FAULT_SECONDS; any other exception of `act`, and of the callback during waits.
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
        """Tries `act` once, unless the pause after its last fault still lasts.  Returns whether it was done.

        Raises StoreFault after LONGEST_FAULT_SECONDS; any other exception of `act`.
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
        """Forgets faults of actions that work again. One that works says little: a large file may still not fit."""
        since = [self._faults.pop(name).since for name in what]
        if not self._faults:
            log.warning("The store works again, after %s.", in_time(time.monotonic() - min(since)))


class _Fault:
    """since: when it was noticed. again: when the next attempt is due. pause: after that attempt."""

    def __init__(self, since: float) -> None:
        self.since = self.again = since
        self.pause = FIRST_PAUSE_SECONDS


def fault_of(store: Store) -> str:
    """Why the store cannot be written now, and how workers react; empty if it can."""
    try:
        store.try_out()
    except StoreFault as fault:
        return (
            f"{fault} Workers keep their packs in memory and try again, for {in_time(LONGEST_FAULT_SECONDS)} at "
            "most; then they leave their packs to others."
        )
    return ""


def give_back(lease: Lease) -> None:
    """Releases a lease; if the store refuses that, the lease runs out by itself."""
    for pause in RELEASE_PAUSES_SECONDS:
        try:
            return lease.release()
        except StoreFault:
            time.sleep(pause)
        except StoreError:
            return None
    return None
