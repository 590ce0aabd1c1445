"""One campaign: the entries that its minutes allow; after each its results, an export and the state.

The folder is all that travels: state, log, data, results, the exported store, and compiled graphs.
"""

import math
import os
import signal
import sys
import tarfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from launch.campaign import machine, running, state
from launch.campaign.begun import BegunEntry, Place
from launch.campaign.entry import Entry
from launch.campaign.images import there, unpacked
from launch.campaign.schedule import Capacity, following, remaining
from launch.campaign.speed import collected
from launch.campaign.state import State
from launch.campaign.watcher import watched
from launch.wording import counted, say
from plasticity_lab.records.files import write_json

RESERVED, RESERVE_SECONDS = 0.15, 40.0
"""The part of a campaign for the workers' checkpoints, the export and the graphs; and its upper limit."""
EXPORT_SECONDS = 300.0
ARCHIVE, GRAPHS = "store.tar.gz", "graphs.tar.gz"


def usable(minutes: float) -> float:
    """The minutes of a campaign that its entries may take."""
    return minutes - min(minutes * RESERVED, RESERVE_SECONDS / 60)


@dataclass(frozen=True)
class Asked:
    """The words of the command.  folder: the campaign's. data: a folder with image sets, or None."""

    entries: Sequence[Entry]
    minutes: float
    device: str
    folder: Path
    data: Path | None

    @property
    def usable(self) -> float:
        """The minutes of its entries."""
        return usable(self.minutes)

    @property
    def store(self) -> Path:
        """The store of all its sweeps."""
        return self.folder / "store"


def run(asked: Asked) -> int:
    """Carries out a campaign; returns its exit status: 0, or 1 if an entry failed.  Raises StoreError."""
    begun = time.monotonic()
    until = begun + 60 * asked.usable
    asked.folder.mkdir(parents=True, exist_ok=True)
    known = State.of(asked.folder / "state.json")
    data = unpacked(asked.folder) or asked.data
    known.campaigns.append({
        "start": datetime.now(UTC).isoformat(timespec="seconds"), "minutes": asked.minutes,
        "device": machine.gpu_name() or asked.device,
    })  # fmt: skip
    known.write()
    with _asked_to_stop() as stop, watched() as watch, machine.multi_process_service(asked.device, watch) as service:
        shared = machine.is_shared(asked.device, bool(service))
        if not shared:
            say("NVIDIA's multi-process service does not run: studies take turns on the GPU.")
        grace = min(running.GRACE_SECONDS, 60 * (asked.minutes - asked.usable))
        place = Place(asked.folder, asked.device, asked.store, data, until, grace, service, watch)
        here = _Campaign(asked, known, place, machine.capacity(asked.device, shared), stop)
        here.bring()
        failed = here.entries()
        here.keep_graphs()
    known.campaigns[-1]["seconds"] = round(time.monotonic() - begun, 1)
    known.write()
    return int(failed)


@dataclass
class _Campaign:
    asked: Asked
    known: State
    place: Place
    capacity: Capacity
    stop: Callable[[], bool]

    def bring(self) -> None:
        """Takes over the store and the graphs of the campaign before, if it ran on another machine."""
        graphs, archive = self.asked.folder / GRAPHS, self.asked.folder / ARCHIVE
        if graphs.exists() and not (self.asked.folder / "cache").exists():
            with tarfile.open(graphs) as file:
                file.extractall(self.asked.folder, filter="data")
        if archive.exists() and not self.asked.store.exists():
            self._lab(["import", str(archive), "--store", str(self.asked.store)])

    def entries(self) -> bool:
        """Begins entries as the schedule says, until no time is left and all have ended; whether one failed."""
        begun, tried, failed = list[BegunEntry](), set[str](), False
        try:
            while True:
                for each in list(begun):
                    status = each.status(self.stop())
                    if status is not None:
                        begun.remove(each)
                        failed |= self._ended(each, status, begun) == state.FAILED
                entry = None if self.stop() else self._following(begun, tried)
                if entry is not None:
                    tried.add(entry.entry.name)
                    begun.append(entry)
                elif begun:
                    time.sleep(running.POLL_SECONDS)
                else:
                    return failed
        finally:
            for each in begun:
                each.kill()

    def _following(self, begun: Sequence[BegunEntry], tried: Collection[str]) -> BegunEntry | None:
        left = (self.place.until - time.monotonic()) / 60
        busy, data = [each.busy for each in begun], there(self.place.data)
        found = following(self.asked.entries, self.known, data, left, self.capacity, busy, tried)
        if found is None:
            return None
        entry, workers = found
        say(
            f"{entry.name}: {entry.question} ({remaining(entry, self.known):.1f} minutes, {counted(workers, 'worker')})"
        )
        return BegunEntry(entry, workers, self.known, self.place)

    def _ended(self, each: BegunEntry, status: int | str, others: Sequence[BegunEntry]) -> str:
        """Writes the results of an entry that has ended; returns its status in the state."""
        entry, progress = each.entry, each.end(status, self.stop())
        whole = {name: value for name, value in asdict(progress).items() if name != "digest"}
        write_json(each.out / "result.json", {"entry": entry.name, "question": entry.question, **whole})
        collected(each.out, self.asked.folder / "speed", self.known.campaigns[-1]["device"], entry)
        if entry.sweeps:
            self._export(bool(others))
        say(f"{entry.name}: {progress.status} after {progress.minutes:.1f} minutes; its output: {each.out / 'log.txt'}")
        return progress.status

    def _export(self, others: bool) -> None:
        """Replaces the exported store by a new export, in one step.

        others: whether other entries run. They must be stopped in time: an export in progress then ends, and the last
        one of them is followed by another.
        """
        until = self.place.until if others else math.inf
        if not self.asked.store.exists() or time.monotonic() >= until:
            return
        new = self.asked.folder / f"new.{ARCHIVE}"
        new.unlink(missing_ok=True)
        words = ["export", str(new), "--store", str(self.asked.store)]
        if self._lab(words, until, lambda: others and self.stop()):
            os.replace(new, self.asked.folder / ARCHIVE)

    def _lab(self, words: Sequence[str], until: float = math.inf, stop: Callable[[], bool] = lambda: False) -> bool:
        env = machine.environment(self.asked.folder, 1, "cpu")
        log = self.asked.folder / "log.txt"
        until = min(until, time.monotonic() + EXPORT_SECONDS)
        status = running.run(
            [sys.executable, "-m", "launch", *words], env, log, until, stop, self.place.grace, self.place.watch
        )
        if status not in (0, running.STOPPED):
            say(f"`launch {words[0]}` failed; its output: {log}")
        return status == 0

    def keep_graphs(self) -> None:
        """Packs the compiled graphs, so that the next campaign, on another machine, finds them."""
        cache, packed = self.asked.folder / "cache", self.asked.folder / GRAPHS
        if self.asked.device != "cpu" and cache.exists():
            new = packed.with_name(f"new.{GRAPHS}")
            with tarfile.open(new, "w:gz", compresslevel=1) as file:
                file.add(cache, cache.name)
            os.replace(new, packed)


@contextmanager
def _asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Inside, SIGINT and SIGTERM ask the campaign to stop; the function says whether one came."""
    came: list[int] = []
    before: dict[int, Any] = {
        number: signal.signal(number, lambda number, frame: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
