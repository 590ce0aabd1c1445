"""Keeps a lease while its pack trains, from a thread of its own: compiling a step can outlast a lease."""

import threading
import time
from types import TracebackType

from launch.packs.leases import Lease, LostLease
from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import StoreFault

BEATS_A_LEASE = 10
AGAIN_SECONDS = 1.0
"""How soon a touch that a full, read-only or unreachable store refused is tried again."""
LONGEST_STEP_SECONDS = 1800.0
"""A worker that has not shown itself for this long hangs, whatever it is doing; its lease is then left to run out."""


class Heartbeat:
    """Touches a lease now and then, while the worker shows signs of life; a store that does not work is tried again.

    seconds: how long the lease holds untouched.
    """

    def __init__(self, lease: Lease, seconds: float) -> None:
        self._lease, self._every = lease, seconds / BEATS_A_LEASE
        self._over = threading.Event()
        self._seen = time.monotonic()
        self._ended: LostLease | StoreError | None = None
        self._thread = threading.Thread(target=self._beat, name=f"heartbeat of {lease.pack}", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def alive(self) -> None:
        """A sign of life.  Raises LostLease if another worker has taken the pack over; StoreError."""
        self._seen = time.monotonic()
        if self._ended is not None:
            raise self._ended

    def _beat(self) -> None:
        pause = self._every
        while not self._over.wait(pause):
            pause = self._every
            if time.monotonic() - self._seen > LONGEST_STEP_SECONDS:
                continue
            try:
                self._lease.beat()
            except StoreFault:
                pause = min(self._every, AGAIN_SECONDS)  # the lease may not have run out when the store works again
            except (LostLease, StoreError) as error:
                self._ended = error
                return
