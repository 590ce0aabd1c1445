"""Signals as a process is sent them, in a test's own process."""

import os
import signal
import threading
from types import FrameType
from typing import Any

PATIENCE = 60.0
"""Seconds after which a signal surely does not come."""
LOOK = 0.01


def send(number: int) -> None:
    """Sends this process a signal, and waits until its handler, in whatever thread, has met it."""
    met, before = threading.Event(), signal.getsignal(number)
    assert callable(before), "nobody handles it"

    def handler(number: int, frame: FrameType | None) -> Any:
        before(number, frame)
        met.set()

    signal.signal(number, handler)
    try:
        os.kill(os.getpid(), number)
        # In short pieces: where another thread was interrupted, Python calls the handler between two of them.
        assert any(met.wait(LOOK) for _ in range(round(PATIENCE / LOOK)))
    finally:
        signal.signal(number, before)
