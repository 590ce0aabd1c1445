"""How a worker is stopped, and its time until it is ended."""

import math
import os
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Protocol, runtime_checkable

NOTICE_SECONDS = 60.0
"""How long workers may take for their last checkpoints after Ctrl-C, before the command that started them ends them."""


@runtime_checkable
class WithNotice(Protocol):
    """A worker's `stop` that knows who will end it, and when."""

    def seconds_left(self) -> float:
        """Seconds until the worker is ended; infinite while nobody is about to."""
        ...


def seconds_left(stop: Callable[[], bool]) -> float:
    """The same of any `stop`; infinite of one that does not know."""
    return stop.seconds_left() if isinstance(stop, WithNotice) else math.inf


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
        """Seconds until the process that started it ends it; infinite where that is gone, or nobody said to stop."""
        waits = self.received and self.parent is not None and os.getppid() == self.parent
        return self._at + NOTICE_SECONDS - time.monotonic() if waits else math.inf

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if not self.received:
            self.received, self._at = True, time.monotonic()
