"""A thread that runs during a piece of work and ends with it."""

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def beside(name: str, act: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs `act` in another thread during the `with` block.

    `act` must return soon after its event is set, which happens at the end of the block. name: the thread's name.
    """
    over = threading.Event()
    thread = threading.Thread(target=act, args=(over,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
