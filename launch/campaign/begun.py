"""An entry of a campaign that runs: its commands and sweeps, one after another."""

import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from launch.campaign import machine, state
from launch.campaign.entry import Entry, filled
from launch.campaign.running import STOPPED, Command
from launch.campaign.schedule import Busy, remaining
from launch.campaign.speed import samples_of
from launch.campaign.state import State
from launch.campaign.watcher import Watch


@dataclass(frozen=True)
class Place:
    """The folder and the machine of a campaign.

    folder, device, store, data: as in the command. until: when its entries must stop, in `time.monotonic`. grace: the
    seconds from then until they are killed. variables: those that NVIDIA's service needs. watch: ends all processes
    after a kill of the campaign.
    """

    folder: Path
    device: str
    store: Path
    data: Path | None
    until: float
    grace: float
    variables: Mapping[str, str]
    watch: Watch


class BegunEntry:
    """An entry from its next command on. `status` looks at it, and begins the next command; it does not wait."""

    def __init__(self, entry: Entry, workers: int, known: State, place: Place) -> None:
        self.entry, self.workers, self._known, self._place = entry, workers, known, place
        self.out = place.folder / "results" / entry.name
        self.out.mkdir(parents=True, exist_ok=True)
        self._before, self._expected = known.progress(entry), remaining(entry, known)
        self._at, self._begun = self._before.at, time.monotonic()
        known.set(entry, status=state.BEGUN, lost=self._before.lost + 1)
        limit = self._begun + 60 * entry.minutes
        self._until = place.until if entry.sweeps else min(place.until, limit)
        self._command, self._samples = self._next()

    @property
    def busy(self) -> Busy:
        """Its workers and the expected minutes of its rest."""
        return Busy(self.entry, self.workers, max(0.0, self._expected - (time.monotonic() - self._begun) / 60))

    def status(self, stop: bool) -> int | str | None:
        """None while it runs; 0 after its last command; the status of a command that failed or was stopped."""
        status = self._command.status(stop)
        if status is None:
            return None
        self._samples.close()
        if status == 0:
            self._at += 1
            self._known.set(self.entry, at=self._at)
            if self._at < self.entry.parts:
                self._command, self._samples = self._next()
                return None
        return status

    def end(self, status: int | str, stop: bool) -> state.Progress:
        """Notes its end in the state.  stop: whether the campaign was asked to stop."""
        entry, before = self.entry, self._before
        if status == STOPPED and not entry.sweeps and not stop:
            self._at += 1  # a measurement at its limit leaves the comparisons that were complete
        done = state.DONE if self._at == entry.parts else state.PART
        ended = state.FAILED if status not in (0, STOPPED) else done
        orderly = ended == state.DONE or (ended == state.PART and (not entry.whole or stop))
        minutes = before.minutes + (time.monotonic() - self._begun) / 60
        tries = before.tries + (not orderly)
        return self._known.set(entry, status=ended, at=self._at, tries=tries, lost=before.lost, minutes=minutes)

    def kill(self) -> None:
        """Ends its processes."""
        self._command.kill()
        self._samples.close()

    def _next(self) -> tuple[Command, ExitStack]:
        """The next command, and a stack that ends the samples of the GPU's use when it is closed."""
        place, samples = self._place, ExitStack()
        samples.enter_context(machine.busy(place.device, self.out / samples_of(self._at)))
        values = {
            "python": sys.executable, "device": place.device, "out": str(self.out), "store": str(place.store),
            "data": "" if place.data is None else str(place.data),
        }  # fmt: skip
        command = Command(
            filled(self.entry, self._at, values, self.workers),
            {**machine.environment(place.folder, self.workers, place.device), **place.variables},
            self.out / "log.txt",
            self._until,
            place.grace,
            place.watch,
        )
        return command, samples
