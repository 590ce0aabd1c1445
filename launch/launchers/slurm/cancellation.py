"""The cancellations of a sweep: files 1, 2, 3, … that are created and never changed.

Workers, and the command that submits them, carry how many there were when they were asked for: they are cancelled once
there is one more. So a sweep goes on without undoing anything, and no stale copy can undo a cancellation.
"""

import json
import os
import time
from pathlib import Path

from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import create_once, names, server_time, stands
from plasticity_lab.records.store import Store

CLOCK_SECONDS = 0.5
"""What was made later than that after now is of another clock than the file server's."""
LOOK_SECONDS = 4.0
"""How often a worker looks; each look makes the file server say whether one name is there."""


def cancellations(store: Store, sweep: str) -> int:
    """How often a sweep has been cancelled.  Raises StoreError."""
    return max((int(name) for name in names(store.cancelled_folder(sweep)) if name.isdecimal()), default=0)


def cancellations_before(store: Store, sweep: str, seconds: float) -> int:
    """How often a sweep had been cancelled that many seconds ago, when a command began that reads it now.

    Commands import for seconds before they can look: what is cancelled meanwhile is to hold for them too.
    Raises StoreError.
    """
    often = cancellations(store, sweep)
    if not often:
        return 0
    folder = store.cancelled_folder(sweep)
    now = server_time(folder)
    while often and -CLOCK_SECONDS < now - _made(folder / str(often)) < seconds:
        often -= 1
    return often


def add_cancellation(store: Store, sweep: str) -> int:
    """Cancels all that was asked for so far.  Returns how many cancellations there are now.  Raises StoreError."""
    content = json.dumps({"time": time.time(), "host": os.uname().nodename, "pid": os.getpid()}).encode()
    number = cancellations(store, sweep) + 1
    while not create_once(store.cancelled_folder(sweep) / str(number), content):
        number += 1
    return number


def _made(path: Path) -> float:
    """When a cancellation was made, by the file server's clock; one that cannot be read was made long ago."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


class Cancelled:
    """Whether a sweep has been cancelled since there were `before` cancellations.  Calling it is cheap."""

    def __init__(self, store: Store, sweep: str, before: int) -> None:
        self._next = store.cancelled_folder(sweep) / str(before + 1)
        self._looked, self._known = float("-inf"), False

    def __call__(self) -> bool:
        """As of the last LOOK_SECONDS; a store that does not answer is no cancellation."""
        if not self._known and time.monotonic() - self._looked >= LOOK_SECONDS:
            self._known = self.now()
            self._looked = time.monotonic()
        return self._known

    def now(self) -> bool:
        """The same, as of this moment."""
        try:
            return self._known or stands(self._next)
        except StoreError:
            return False
