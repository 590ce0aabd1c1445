"""Pauses of a pack's training: its worker compiles, reads data or waits. A small file of the pack names them."""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from launch.wording import in_time
from plasticity_lab import waits
from plasticity_lab.errors import StoreError
from plasticity_lab.process.beside import beside
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping, write_mapping
from plasticity_lab.records.files import disk_errors
from plasticity_lab.records.store import Store
from plasticity_lab.waits import TRAINING

FROM_SECONDS, AGAIN_SECONDS, LOOK_SECONDS = 1.0, 5.0, 0.25
"""A pause that lasts this long is noted; how often its length is; how often the process is asked."""
_FIELDS = {"doing": str, "of": str, "seconds": int | float}


@dataclass(frozen=True)
class Pause:
    """doing: in one word ("compiling"). of: what, in a few. seconds: how long, when it was noted last."""

    doing: str
    of: str
    seconds: float

    @property
    def words(self) -> str:
        """«compiling kernels for 0:00:12»."""
        return f"{self.doing} {self.of} for {in_time(self.seconds)}"


def read_pause(store: Store, pack: str) -> Pause | None:
    """The pause of a pack's worker; None if it trains, or the file is damaged."""
    try:
        value = read_mapping(store.pause(pack), "")
    except DamagedFile:
        return None
    return (
        None if value is None or fault_of_fields(value, _FIELDS) else Pause(**{name: value[name] for name in _FIELDS})
    )


@contextlib.contextmanager
def noted(store: Store, pack: str, state: Callable[[str], None] = lambda state: None) -> Iterator[None]:
    """Around a pack's training: a further thread notes its pauses, and removes the note afterwards.

    state: that thread calls it with each new state, as "compiling"; with TRAINING after a pause.
    """
    with beside(f"pauses of {pack}", functools.partial(_note, store.pause(pack), state)):
        yield


def _note(path: Path, state: Callable[[str], None], over: threading.Event) -> None:
    is_noted, due = path.exists(), 0.0  # a worker that was killed leaves its note
    known, words = TRAINING, ("", "")
    while not over.wait(LOOK_SECONDS):
        wait = waits.current()
        if wait is not None and wait.seconds < FROM_SECONDS:
            continue
        before, known = known, TRAINING if wait is None else wait.doing
        if known != before:
            state(known)
        with contextlib.suppress(StoreError):  # training goes on, and so does this once the store works again
            if wait is None and is_noted:
                _forget(path)
                is_noted, words = False, ("", "")
            elif wait is not None and ((wait.doing, wait.of) != words or wait.seconds >= due):
                write_mapping(path, {"doing": wait.doing, "of": wait.of, "seconds": round(wait.seconds, 1)})
                is_noted, words, due = True, (wait.doing, wait.of), wait.seconds + AGAIN_SECONDS
    if known != TRAINING:
        state(TRAINING)
    with contextlib.suppress(StoreError):
        _forget(path)


def _forget(path: Path) -> None:
    with disk_errors("write", path):
        path.unlink(missing_ok=True)
