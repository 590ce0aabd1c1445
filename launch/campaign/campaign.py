"""One campaign: the entries that its minutes allow; after each its results, an export and the state.

The folder is all that travels: state, log, data, results, the exported store, and compiled graphs.
"""

import os
import signal
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from launch.campaign import machine, running, state
from launch.campaign.entry import Entry, filled
from launch.campaign.images import there, unpacked
from launch.campaign.speed import collected, samples_of
from launch.campaign.state import State
from launch.wording import say
from plasticity_lab.records.files import write_json

RESERVED, RESERVE_SECONDS = 0.15, 40.0
"""The part of a campaign for the workers' checkpoints, the export and the graphs; and its upper limit."""
LEAST_SECONDS = 30.0
"""An entry that later campaigns continue is begun if this much time is left: compiled code and a checkpoint."""
EXPORT_SECONDS = 300.0
ARCHIVE, GRAPHS = "store.tar.gz", "graphs.tar.gz"


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
        return self.minutes - min(self.minutes * RESERVED, RESERVE_SECONDS / 60)

    @property
    def store(self) -> Path:
        """The store of all its sweeps."""
        return self.folder / "store"


def chosen(asked: Asked, known: State, data: set[str], left: float) -> list[tuple[Entry, str]]:
    """The entries that are open, each with the reason if it is left out, or "" if it is begun.

    left: the remaining minutes. Pure: the plan of a dry run and of a campaign are the same.
    """
    found = []
    for entry in asked.entries:
        if not known.is_open(entry):
            continue
        lacks, rest = [name for name in entry.needs if name not in data], remaining(entry, known)
        least = LEAST_SECONDS / 60 if entry.resumes else rest
        if lacks:
            reason = f"needs {' and '.join(lacks)}"
        elif least > left:
            reason = f"needs {least:.1f} minutes, {max(left, 0):.1f} are left"
        else:
            reason, left = "", left - min(rest, left)
        found.append((entry, reason))
    return found


def remaining(entry: Entry, known: State) -> float:
    """The expected minutes of the rest of an entry."""
    used = known.progress(entry).minutes if entry.resumes else 0.0
    return max(entry.minutes - used, LEAST_SECONDS / 60) if used else entry.minutes


def run(asked: Asked) -> int:
    """Carries out a campaign; returns its exit status: 0, or 1 if an entry failed.  Raises StoreError."""
    begun = time.monotonic()
    until = begun + 60 * asked.usable
    asked.folder.mkdir(parents=True, exist_ok=True)
    known = State.of(asked.folder / "state.json")
    data = unpacked(asked.folder) or asked.data
    memory, name = machine.gpu_memory_gb(), machine.gpu_name()
    known.campaigns.append({
        "start": datetime.now(UTC).isoformat(timespec="seconds"), "minutes": asked.minutes,
        "device": name or asked.device,
    })  # fmt: skip
    known.write()
    with _asked_to_stop() as stop, machine.multi_process_service(asked.device) as service:
        if asked.device != "cpu" and not service:
            say("NVIDIA's multi-process service does not run: processes take turns on the GPU.")
        here = _Campaign(asked, known, data, until, stop, service, memory)
        here.bring()
        failed = False
        tried = set[str]()
        while not stop():
            open_ones = chosen(asked, known, there(data), (until - time.monotonic()) / 60)
            entry = next((each for each, why in open_ones if not why and each.name not in tried), None)
            if entry is None:
                break
            tried.add(entry.name)
            failed |= here.entry(entry) == state.FAILED
        here.keep_graphs()
    known.campaigns[-1]["seconds"] = round(time.monotonic() - begun, 1)
    known.write()
    return int(failed)


@dataclass
class _Campaign:
    asked: Asked
    known: State
    data: Path | None
    until: float
    stop: Callable[[], bool]
    service: Mapping[str, str]
    memory: float | None

    def bring(self) -> None:
        """Takes over the store and the graphs of the campaign before, if it ran on another machine."""
        graphs, archive = self.asked.folder / GRAPHS, self.asked.folder / ARCHIVE
        if graphs.exists() and not (self.asked.folder / "cache").exists():
            with tarfile.open(graphs) as file:
                file.extractall(self.asked.folder, filter="data")
        if archive.exists() and not self.asked.store.exists():
            self._lab(["import", str(archive), "--store", str(self.asked.store)])

    def entry(self, entry: Entry) -> str:
        """Runs an entry from its next command on; returns its status, which the state has too."""
        before = self.known.progress(entry)
        workers = machine.workers_for(entry, self.asked.device, self.memory)
        out = self.asked.folder / "results" / entry.name
        say(f"{entry.name}: {entry.question} ({remaining(entry, self.known):.1f} minutes)")
        self.known.set(entry, status=state.BEGUN, lost=before.lost + 1)
        begun, status, at = time.monotonic(), 0, before.at
        limit = self.until if entry.sweeps else min(self.until, begun + 60 * entry.minutes)
        while at < entry.parts and status == 0:
            with machine.busy(self.asked.device, out / samples_of(at)):
                status = running.run(
                    filled(entry, at, self._values(out), workers),
                    {**machine.environment(self.asked.folder, workers, self.asked.device), **self.service},
                    out / "log.txt",
                    limit,
                    self.stop,
                    min(running.GRACE_SECONDS, 60 * (self.asked.minutes - self.asked.usable)),
                )
            at += status == 0
            self.known.set(entry, at=at)
        if status == running.STOPPED and not entry.sweeps and not self.stop():
            at += 1  # a measurement at its limit leaves the comparisons that were complete
        ended = state.FAILED if status not in (0, running.STOPPED) else state.DONE if at == entry.parts else state.PART
        orderly = ended == state.DONE or (ended == state.PART and (not entry.whole or self.stop()))
        minutes = before.minutes + (time.monotonic() - begun) / 60
        tries = before.tries + (not orderly)
        whole = {"status": ended, "at": at, "tries": tries, "lost": before.lost, "minutes": minutes}
        self.known.set(entry, **whole)
        write_json(out / "result.json", {"entry": entry.name, "question": entry.question, **whole})
        collected(out, self.asked.folder / "speed", self.known.campaigns[-1]["device"], entry)
        if entry.sweeps:
            self._export()
        say(f"{entry.name}: {ended} after {minutes:.1f} minutes; its output: {out / 'log.txt'}")
        return ended

    def _values(self, out: Path) -> dict[str, str]:
        out.mkdir(parents=True, exist_ok=True)
        return {
            "python": sys.executable, "device": self.asked.device, "out": str(out), "store": str(self.asked.store),
            "data": "" if self.data is None else str(self.data),
        }  # fmt: skip

    def _export(self) -> None:
        """Replaces the exported store by a new export, in one step."""
        new = self.asked.folder / f"new.{ARCHIVE}"
        new.unlink(missing_ok=True)
        if self.asked.store.exists() and self._lab(["export", str(new), "--store", str(self.asked.store)]):
            os.replace(new, self.asked.folder / ARCHIVE)

    def _lab(self, words: Sequence[str]) -> bool:
        env = machine.environment(self.asked.folder, 1, "cpu")
        until = time.monotonic() + EXPORT_SECONDS
        log = self.asked.folder / "log.txt"
        done = running.run([sys.executable, "-m", "launch", *words], env, log, until, lambda: False) == 0
        if not done:
            say(f"`launch {words[0]}` failed; its output: {log}")
        return done

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
