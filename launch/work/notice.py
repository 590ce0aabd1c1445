"""How long a worker that is to stop has until it is ended."""

import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable


@runtime_checkable
class WithNotice(Protocol):
    """A worker's `stop` that knows who will end it, and when."""

    def seconds_left(self) -> float:
        """Seconds until the worker is ended; infinite while nobody is about to."""
        ...


def seconds_left(stop: Callable[[], bool]) -> float:
    """The same of any `stop`; infinite of one that does not know."""
    return stop.seconds_left() if isinstance(stop, WithNotice) else math.inf
