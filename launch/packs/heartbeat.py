"""Keeps a lease while its pack trains, from a thread of its own: compiling a step can outlast a lease."""

import threading
import time
from types import TracebackType

from launch.packs.leases import Lease, LostLease
from plasticity_lab.errors import StoreError

BEATS_A_LEASE = 10
LONGEST_STEP_SECONDS = 1800.0
"""A worker that has not shown itself for this long hangs, whatever it is doing; its lease is then left to run out."""


class Heartbeat:
    """Touches a lease now and then, while the worker shows signs of life.

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
        while not self._over.wait(self._every):
            if time.monotonic() - self._seen > LONGEST_STEP_SECONDS:
                continue
            try:
                self._lease.beat()
            except (LostLease, StoreError) as error:
                self._ended = error
                return
