"""The order of a campaign: which entry begins next, with how many workers, and the plan that follows from it.

All of it is pure: the plan of a dry run and the campaign itself ask the same functions.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from launch.campaign.entry import Entry
from launch.campaign.state import State

LEAST_SECONDS = 30.0
"""An entry that later campaigns continue is begun if this much time is left: compiled code and a checkpoint."""
ROUNDING = 1e-9


@dataclass(frozen=True)
class Capacity:
    """The part of the machine for workers.

    workers: how many the cores feed. memory_gb: the GPU's memory for packs. shared: whether studies may run at the same
    time.
    """

    workers: int
    memory_gb: float
    shared: bool = True


@dataclass(frozen=True)
class Busy:
    """An entry that runs, its workers, and the expected minutes of its rest."""

    entry: Entry
    workers: int
    minutes: float


@dataclass(frozen=True)
class Planned:
    """An open entry in a plan: its beginning and its time in this campaign, in minutes; or the reason why it waits."""

    entry: Entry
    begins: float = 0.0
    minutes: float = 0.0
    workers: int = 0
    why: str = ""


def remaining(entry: Entry, known: State) -> float:
    """The expected minutes of the rest of an entry."""
    used = known.progress(entry).minutes if entry.resumes else 0.0
    return max(entry.minutes - used, LEAST_SECONDS / 60) if used else entry.minutes


def reason(entry: Entry, known: State, data: Collection[str], left: float) -> str:
    """The reason why an entry cannot begin with this many minutes left; "" if it can."""
    lacks = [name for name in entry.needs if name not in data]
    if lacks:
        return f"needs {' and '.join(lacks)}"
    least = LEAST_SECONDS / 60 if entry.resumes else remaining(entry, known)
    return f"needs {least:.1f} minutes, {max(left, 0):.1f} are left" if least > left + ROUNDING else ""


def workers_for(entry: Entry, capacity: Capacity, running: Sequence[Busy]) -> int:
    """How many workers an entry gets now; 0 if it waits for the running ones.

    As many as the cores feed and as the GPU's memory holds, and not more than it asks for. An entry that asks for no
    number of workers runs alone.
    """
    if running and not (capacity.shared and entry.workers and all(busy.entry.workers for busy in running)):
        return 0
    free = capacity.workers - sum(busy.workers for busy in running)
    memory = capacity.memory_gb - sum(busy.workers * busy.entry.memory_gb for busy in running)
    most = int(min(free, memory / entry.memory_gb, entry.workers or free))
    return max(most, 0 if running else 1)


def following(
    entries: Sequence[Entry], known: State, data: Collection[str], left: float, capacity: Capacity,
    running: Sequence[Busy], tried: Collection[str],
) -> tuple[Entry, int] | None:  # fmt: skip
    """The entry that begins now, with its workers; None if none can.

    The first in the file's order. An entry may begin before an earlier one that needs more workers than are free. An
    entry that needs the machine alone holds back later ones, if time enough is left for it after the running ones.
    """
    wait = max((busy.minutes for busy in running), default=0.0)
    for entry in entries:
        if entry.name in tried or not known.is_open(entry) or reason(entry, known, data, left):
            continue
        if workers := workers_for(entry, capacity, running):
            return entry, workers
        if not entry.workers and not reason(entry, known, data, left - wait):
            return None
    return None


def plan(
    entries: Sequence[Entry], known: State, data: Collection[str], minutes: float, capacity: Capacity
) -> list[Planned]:
    """All open entries in the file's order: the campaign as it goes if each entry takes its expected time."""
    found, running, now = dict[str, Planned](), list[Busy](), 0.0
    waits = dict[str, str]()
    while True:
        begins = following(entries, known, data, minutes - now, capacity, running, found)
        if begins is not None:
            entry, workers = begins
            taken = min(remaining(entry, known), minutes - now)
            found[entry.name] = Planned(entry, now, taken, workers)
            running.append(Busy(entry, workers, taken))
            continue
        for entry in entries:
            if entry.name not in waits and (why := reason(entry, known, data, minutes - now)):
                waits[entry.name] = why
        if not running:
            break
        passes = min(busy.minutes for busy in running)
        now += passes
        running = [replace(busy, minutes=busy.minutes - passes) for busy in running if busy.minutes > passes + ROUNDING]
    full = "waits for workers"
    return [
        found.get(entry.name) or Planned(entry, why=waits.get(entry.name, full))
        for entry in entries if known.is_open(entry)
    ]  # fmt: skip
