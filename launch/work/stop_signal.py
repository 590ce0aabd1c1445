"""How a worker of a local sweep is stopped."""

import math
import os
import signal
import time
from types import FrameType

NOTICE_SECONDS = 60.0
"""How long workers may take for their last checkpoints after Ctrl-C, before the command that started them ends them."""


class StopSignal:
    """Whether the worker is to stop: after SIGINT or SIGTERM, or when the process that started it is gone."""

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
