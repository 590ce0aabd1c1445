"""What a worker tells of its runs while it trains them, and the process beside it that passes that on to W&B.

A worker never imports wandb and never waits for it: it puts lines into a queue. Records come first, in any case.
"""

import contextlib
import json
import logging
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa

from launch.tracking.content import rows
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

log = logging.getLogger(__name__)
CHECKOUT = Path(__file__).resolve().parents[2]
SILENCE_SECONDS = 120.0
"""How long a worker that has trained everything waits for a sign that one more run has been written."""
STOPPED_SECONDS = 20.0
"""How long one that was stopped waits for its open runs to be closed."""
_BACKLOG = 10_000


class Measured(Protocol):
    """The part of a journal that is tracked."""

    events: int

    def table(self, k: int, after: int = 0) -> pa.Table:
        """The events of run k, without the first so many."""
        ...


class Tracking(Protocol):
    """Follows one pack after another."""

    def begin(self, runs: Sequence[Run]) -> None:
        """Called when a pack begins, or goes on."""
        ...

    def follow(self, journal: Measured) -> None:
        """Called now and then while it trains."""
        ...

    def end(self, runs: Sequence[Run], recorded: bool) -> None:
        """Called when it trains no longer; recorded: whether its runs have records now."""
        ...

    def close(self, stopped: bool) -> None:
        """Called when the worker leaves; stopped: whether it was told to."""
        ...


class Untracked:
    """tracking=store."""

    def begin(self, runs: Sequence[Run]) -> None:
        """Nothing."""

    def follow(self, journal: Measured) -> None:
        """Nothing."""

    def end(self, runs: Sequence[Run], recorded: bool) -> None:
        """Nothing."""

    def close(self, stopped: bool) -> None:
        """Nothing."""


UNTRACKED = Untracked()


class Tracked:
    """Tracking by a process of its own, started with the first thing to say.

    live_runs: packs that are not wider are followed while they train; none are where nobody could watch.
    """

    def __init__(self, store: Store, sweep: str, place: str, entity: str | None, project: str, live_runs: int) -> None:
        command = [sys.executable, "-m", "launch.tracking.companion", "--store", str(store.root), "--sweep", sweep]
        self._command = [*command, "--place", place, "--entity", entity or "", "--project", project]
        self.live_runs = live_runs if place == "online" else 0
        self._process: subprocess.Popen[str] | None = None
        self._outbox: queue.Queue[str | None] = queue.Queue(_BACKLOG)
        self._lost = self._closing = self._warned = False
        self._waiting = 0
        self._heard = time.monotonic()
        self._runs: list[str] = []
        self._told = 0

    def begin(self, runs: Sequence[Run]) -> None:
        """Has the runs opened, if the pack is to be seen live."""
        self._runs, self._told = [run.id for run in runs] if len(runs) <= self.live_runs else [], 0
        if self._runs:
            self._say("begin", [run.as_json() for run in runs])

    def follow(self, journal: Measured) -> None:
        """Passes on the events that are new; of a pack that goes on from a checkpoint, all so far."""
        if not self._runs or journal.events == self._told:
            return
        self._say("rows", {run: list(rows(journal.table(k, self._told))) for k, run in enumerate(self._runs)})
        self._told = journal.events

    def end(self, runs: Sequence[Run], recorded: bool) -> None:
        """Has the runs written from their records, or closed."""
        if recorded:
            self._waiting += 1
            self._say("finish", [run.id for run in runs])
        elif self.live_runs and self._process is not None:
            self._say("leave")
        self._runs = []

    def close(self, stopped: bool) -> None:
        """Waits until all is written, or nothing more is heard; what is missing then, `sync` finds."""
        if self._process is None:
            return
        self._closing = True
        with contextlib.suppress(queue.Full):
            self._outbox.put_nowait(None)
        self._heard = time.monotonic()
        patience = STOPPED_SECONDS if stopped else SILENCE_SECONDS
        while not self._lost and self._process.poll() is None and time.monotonic() - self._heard < patience:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=0.2)
        if self._process.poll() is None:
            if self._waiting and not self._lost:
                self._warn("it does not answer")
            self._process.kill()
        self._process.wait()
        self._listener.join()

    def _say(self, verb: str, *what: Any) -> None:
        if self._lost:
            return
        try:
            if self._process is None:
                self._start()
            self._outbox.put_nowait(json.dumps([verb, what]) + "\n")
        except (OSError, queue.Full) as error:
            self._lose(str(error) or "it does not keep up")

    def _start(self) -> None:
        said = tempfile.TemporaryFile("w+")
        # A group of its own: a terminal's Ctrl-C is for who trains.
        self._process = process = subprocess.Popen(
            self._command,
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            process_group=0,
        )
        threading.Thread(target=self._send, args=(process.stdin,), daemon=True).start()
        self._listener = threading.Thread(target=self._listen, args=(process.stdout, said), daemon=True)
        self._listener.start()

    def _send(self, into: IO[str]) -> None:
        # A pipe that is broken is noticed by who listens.
        with contextlib.suppress(OSError), into:
            while (line := self._outbox.get()) is not None:
                into.write(line)
                into.flush()

    def _listen(self, answers: IO[str], said: IO[str]) -> None:
        with answers, said:
            for line in answers:
                answer = json.loads(line)
                self._heard = time.monotonic()
                if "written" in answer or "failed" in answer:
                    self._waiting -= 1
                if reason := answer.get("not_live"):
                    self._runs = []
                    self._warn(reason)
                for reason in answer.get("failed", {}).values():
                    self._warn(reason)
            if self._waiting or not self._closing:
                said.seek(0)
                last = said.read().strip().splitlines()[-1:]
                self._lose(f"its process ended{''.join(f' ({line})' for line in last)}")

    def _lose(self, reason: str) -> None:
        self._lost = True
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        self._warn(reason)

    def _warn(self, reason: str) -> None:
        """One line, for the first thing that goes wrong."""
        if not self._warned:
            self._warned = True
            words = reason.rstrip(".")
            log.warning("W&B: %s. Training goes on; `python -m launch sync` writes what is missing.", words)


def tracking_of(store: Store, sweep: str, settings: TrackingSettings) -> Tracking:
    """The tracking that a plan asks for."""
    backend = settings.backend
    if backend == "store":
        return UNTRACKED
    place = backend.removeprefix("wandb_")
    return Tracked(store, sweep, place, settings.entity, settings.project, settings.live_runs)
