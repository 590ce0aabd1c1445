"""Python's search for unused objects (garbage), kept away from work that makes a million of them."""

import contextlib
import gc
from collections.abc import Iterator

MOST_WAITING = 4
"""The garbage of as many blocks may wait, some 20 MB each. The next block begins with a search."""
_waiting = 0


@contextlib.contextmanager
def collected_later() -> Iterator[None]:
    """A block during which Python does not search for garbage. Its objects count as old ones afterwards.

    Python searches old objects rarely. A search of all objects after torch has compiled a graph takes 0.3 seconds.
    """
    global _waiting
    if not gc.isenabled():  # by the caller, or this block is within another
        yield
        return
    if _waiting == MOST_WAITING:
        collect_waiting()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # from the frozen objects to the old ones
        gc.enable()
        _waiting += 1


def collect_waiting() -> None:
    """Frees the garbage of earlier blocks, if there were any."""
    global _waiting
    if _waiting:
        gc.collect()
    _waiting = 0
