"""How a worker of a local sweep is told to stop."""

import os
import signal
from types import FrameType


class StopSignal:
    """Whether the worker is to stop: after SIGINT or SIGTERM, or when the process that started it is gone."""

    def __init__(self, parent: int | None) -> None:
        self.parent = parent
        self.received = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._receive)

    def __call__(self) -> bool:
        """True once it is time to checkpoint and leave."""
        return self.received or (self.parent is not None and os.getppid() != self.parent)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received = True
