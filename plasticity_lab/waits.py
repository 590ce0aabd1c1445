"""Pauses of this process's training, while it compiles, reads data, or waits for a file system.

The pausing code registers each pause here, and reports read it from another thread. Training time excludes pauses.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

TRAINING = "training"
"""The state of a process without a pause, as "compiling" is a state with one."""


@dataclass
class Wait:
    """A pause.

    doing: one word for a table ("compiling"). of: its object, in a few words ("kernels"). began: by `time.monotonic`.
    The waiting code may change both texts during the pause.
    """

    doing: str
    of: str
    began: float

    @property
    def seconds(self) -> float:
        """The duration so far."""
        return time.monotonic() - self.began


_open: list[Wait] = []
_ended_seconds = 0.0


@contextlib.contextmanager
def waiting(doing: str, of: str) -> Iterator[Wait]:
    """Registers a pause; a nested pause is a part of the outer one."""
    global _ended_seconds
    wait = Wait(doing, of, time.monotonic())
    _open.append(wait)
    try:
        yield wait
    finally:
        _open.remove(wait)
        if not _open:
            _ended_seconds += wait.seconds


def current() -> Wait | None:
    """The current outermost pause of this process; None if it trains."""
    return next(iter(_open[:1]), None)


def seconds_waited() -> float:
    """Seconds of all pauses since this process began, including the current one."""
    wait = current()
    return _ended_seconds + (0.0 if wait is None else wait.seconds)
