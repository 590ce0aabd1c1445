"""The progress of packs, the pauses of their workers, and the seconds that they still need.

Each running pack has two small files: its progress, and the present pause of its training.
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from launch.packs.endings import ending_of
from launch.plan.speed import makespan
from launch.wording import in_time
from plasticity_lab import waits
from plasticity_lab.errors import StoreError
from plasticity_lab.process.beside import beside
from plasticity_lab.records.damage import read_as, read_undamaged, write_mapping
from plasticity_lab.records.files import disk_errors, names
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import REFILLED, flags_of_parts
from plasticity_lab.waits import TRAINING

_ADVICE = "the progress of its pack shows again when the pack trains"
FROM_SECONDS, AGAIN_SECONDS, LOOK_SECONDS = 1.0, 5.0, 0.25
"""A pause is noted once it has lasted the first; its length is noted again after the second. The worker is checked for
pauses every LOOK_SECONDS."""
SETTLED_SECONDS = 10.0
"""The measured pace of a pack counts once it has trained for this time."""
ENOUGH = 100
"""This number of ended packs suffices to predict the other packs."""


@dataclass(frozen=True)
class Reached:
    """The progress of one pack.

    steps: the steps of each of its runs. diverged: the number of runs that diverged. seconds: training time. lately:
    name → the latest measurement of its runs, if the agent reports it. parts: the code that trained it, as returned by
    `training_code.parts_from`; empty if the worker had an earlier version. refills: the steps when its replay
    memory was reset to empty.
    """

    steps: int
    diverged: int = 0
    seconds: float = 0.0
    lately: Mapping[str, float] = field(default_factory=dict)
    parts: tuple[Mapping[str, Any], ...] = ()
    refills: tuple[int, ...] = ()

    @property
    def flags(self) -> list[str]:
        """The flags that the records of its runs will have because of its interruptions."""
        return flags_of_parts(self.parts) + ([REFILLED] if self.refills else [])

    @property
    def kind(self) -> str | None:
        """The kind of the device that trained it last; None if unknown."""
        return self.parts[-1].get("kind") if self.parts else None


NOWHERE = Reached(0)


def write_progress(store: Store, pack: str, progress: Reached) -> None:
    """Writes the progress of a running pack.  Raises StoreError."""
    write_mapping(store.progress(pack), asdict(progress))


def read_progress(store: Store, pack: str) -> Reached | None:
    """The progress of a pack that has not ended; None without a file.  Raises DamagedFile; StoreError."""
    return read_as(Reached, store.progress(pack), _ADVICE)


def reached(store: Store, pack: str) -> Reached:
    """As `read_progress`, but NOWHERE if the file is missing or damaged.  Raises StoreError."""
    return read_undamaged(Reached, store.progress(pack)) or NOWHERE


@dataclass(frozen=True)
class Pause:
    """A pause of training.

    doing: the activity, in one word ("compiling"). of: its object, in a few words. seconds: the length of the pause
    when it was last noted.
    """

    doing: str
    of: str
    seconds: float

    @property
    def words(self) -> str:
        """The pause in words, such as «compiling kernels for 0:00:12»."""
        return f"{self.doing} {self.of} for {in_time(self.seconds)}"


def read_pause(store: Store, pack: str) -> Pause | None:
    """The pause of a pack's worker; None if the worker trains, or the file is damaged."""
    return read_undamaged(Pause, store.pause(pack))


@contextlib.contextmanager
def noted(store: Store, pack: str, state: Callable[[str], None] = lambda state: None) -> Iterator[None]:
    """Around a pack's training: a thread notes its pauses, and removes the note afterwards.

    state: the thread calls it with each new state, such as "compiling", and with TRAINING after a pause.
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
        with contextlib.suppress(StoreError):  # training goes on; the next round writes again
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


def seconds_needed(
    asked: Sequence[Pack], packs: Sequence[Pack], far: Mapping[str, Reached], took: Mapping[str, float]
) -> dict[str, float]:
    """Pack → the seconds that it still needs.

    A pack that has trained for a while is extrapolated at its pace. For the others, the plan's estimate is multiplied
    by the sweep's ratio of measured to planned time.
    asked: the packs to predict. packs: all packs of the sweep. far: pack → its progress, for begun packs. took: pack →
    the seconds that it took, for ended packs.
    """
    planned = taken = 0.0
    for pack in packs:
        if pack.id in took:
            planned, taken = planned + pack.seconds, taken + took[pack.id]
        elif (now := far.get(pack.id, NOWHERE)).seconds > SETTLED_SECONDS:
            planned, taken = planned + pack.seconds * now.steps / pack.steps, taken + now.seconds
    pace = taken / planned if planned else 1.0

    def needed(pack: Pack) -> float:
        now = far.get(pack.id, NOWHERE)
        if now.steps and now.seconds > SETTLED_SECONDS:
            return (pack.steps - now.steps) * now.seconds / now.steps
        return pace * pack.seconds * (1 - now.steps / pack.steps)

    return {pack.id: needed(pack) for pack in asked}


def until_the_last(held: Sequence[float], waiting: Sequence[float], any_waits: bool) -> float | None:
    """Seconds until all packs have ended, if each free worker takes the next waiting pack.

    held, waiting: the seconds that the packs need. any_waits: whether a run waits. Returns None if a run waits and no
    pack is held.
    """
    if not held:
        return None if any_waits else 0.0
    return makespan(held, waiting)


class Pace:
    """The pace of a sweep, for one of its workers. It reads the endings of a few packs, each once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._took: dict[str, float | None] = {}

    def seconds_needed(self, asked: Pack, packs: Mapping[str, Pack], left: Sequence[str]) -> float:
        """Seconds until a pack ends, even if it has not begun.

        packs: id → pack, for all packs of the sweep. left: the ids of packs that have not ended.  Raises StoreError.
        """
        for pack in packs.keys() - {*left} - self._took.keys():
            if len(self._took) == ENOUGH:
                break
            ending = ending_of(self.store, pack)
            self._took[pack] = None if ending is None else ending.seconds
        took = {pack: seconds for pack, seconds in self._took.items() if seconds is not None}
        begun = {asked.id, *left} & {*names(self.store.root / "packs")}
        far = {pack: reached(self.store, pack) for pack in begun}
        return seconds_needed([asked], list(packs.values()), far, took)[asked.id]
