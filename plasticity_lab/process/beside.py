"""A thread beside a piece of work, which ends with it."""

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def beside(name: str, act: Callable[[threading.Event], None]) -> Iterator[None]:
    """While this lasts, a further thread does `act`, which must return soon after its event is set: the work is over.

    name: the thread's.
    """
    over = threading.Event()
    thread = threading.Thread(target=act, args=(over,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
