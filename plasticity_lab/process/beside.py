"""A thread that runs during a piece of work and ends with it."""

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def beside(name: str, act: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs `act` in another thread meanwhile.  It must return soon after its event is set, at the end of the work.

    name: of the thread.
    """
    over = threading.Event()
    thread = threading.Thread(target=act, args=(over,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
