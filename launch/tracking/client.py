"""How a worker follows its packs, so that their runs appear in W&B.

A worker never imports wandb and never waits for it: a companion process writes the runs, and a queue holds its orders.
The records in the store are always written first. Each message is a line of JSON: the worker sends [order, its
arguments], and an order is the name of a method of the companion, which answers with an `Answer`.
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from launch.tracking.wandb.content import rows
from launch.tracking.wandb.environment import named
from launch.tracking.wandb.marks import Destination, destination_of
from plasticity_lab.records.measures import Measures
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run
from plasticity_lab.waits import TRAINING

if TYPE_CHECKING:  # torch: the companion need not wait for it
    from plasticity_lab.records.journal import Journal

log = logging.getLogger(__name__)
SILENCE_SECONDS = 120.0
"""After training everything, a worker waits at most this long from one written run to the next."""
STOPPED_SECONDS = 20.0
"""A stopped worker waits at most this long until its open runs are closed."""
CHECKOUT = Path(__file__).resolve().parents[2]
_BACKLOG = 10_000
"""Orders that may wait; a companion further behind is given up."""


@dataclass(frozen=True)
class Answer:
    """The companion's report on an order; an empty one is a sign of life.

    finished: whether an order to finish runs has been carried out. failed: run id → why it could not be written.
    not_live: why the open runs are no longer followed. error: why an order could not be understood.
    """

    finished: bool = False
    failed: Mapping[str, str] = field(default_factory=dict)
    not_live: str = ""
    error: str = ""


def described(run: Run, measures: Measures) -> dict[str, Any]:
    """A run in training, with these keys of its future record: run (its id), science, asked_as, measures."""
    return {"run": run.id, "science": run.science, "asked_as": list(run.asked_as), "measures": measures.as_json()}


class Connection:
    """A companion process and two threads: one writes orders to its stdin, one reads answers from its stdout.

    hear: called with each answer. ended: called when the process has ended, with the last line of its stderr. Both are
    called in the thread that reads. heard: when the last answer came, by time.monotonic().
    """

    def __init__(self, command: Sequence[str], hear: Callable[[Answer], None], ended: Callable[[str], None]) -> None:
        """Starts the process.  Raises OSError."""
        self._hear, self._ended = hear, ended
        self._orders: queue.Queue[str | None] = queue.Queue(_BACKLOG)
        self._stderr = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.heard = time.monotonic()
        self.process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            process_group=0,  # Ctrl-C in a terminal is meant for the worker alone
        )
        threading.Thread(target=self._send, args=(self.process.stdin,), daemon=True).start()
        self._listener = threading.Thread(target=self._listen, args=(self.process.stdout,), daemon=True)
        self._listener.start()

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def send(self, order: str, *content: object) -> None:
        """Queues an order.  Raises queue.Full."""
        self._orders.put_nowait(f"{json.dumps([order, content])}\n")

    def wait(self, patience: float, lost: Callable[[], bool]) -> bool:
        """Waits until the process has carried out all orders and ended.  Returns whether it has.

        patience: it is given up after this many seconds without an answer. lost: whether it was given up during the
        wait.
        """
        with contextlib.suppress(queue.Full):
            self._orders.put_nowait(None)
        self.heard = time.monotonic()
        while self.running and not lost() and time.monotonic() - self.heard < patience:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=0.2)
        return not self.running

    def close(self) -> None:
        """Ends the process, if it runs, and waits until its last answer has been heard."""
        self.kill()
        self.process.wait()
        self._listener.join()

    def kill(self) -> None:
        """Kills the process, if it runs."""
        if self.running:
            self.process.kill()

    def _send(self, stdin: IO[str]) -> None:
        # A broken pipe means that the process has ended; the reading thread notices that.
        with contextlib.suppress(OSError), stdin:
            while (line := self._orders.get()) is not None:
                stdin.write(line)
                stdin.flush()

    def _listen(self, stdout: IO[str]) -> None:
        with stdout, self._stderr:
            for line in stdout:
                self.heard = time.monotonic()
                self._hear(Answer(**json.loads(line)))
            self._stderr.seek(0)
            last = self._stderr.read().strip().splitlines()[-1:]
            self._ended("".join(last))


class Tracking:
    """Follows one pack after another; this one does nothing (tracking=store)."""

    def begin(self, runs: Sequence[Run], measures: Measures) -> None:
        """Called when a pack begins, or continues.  measures: the measures of its journal."""

    def follow(self, journal: "Journal") -> None:
        """Called now and then while it trains."""

    def state(self, state: str) -> None:
        """Called on another thread, when the worker begins to train, to compile or to wait."""

    def end(self, runs: Sequence[Run], recorded: bool) -> None:
        """Called when the pack's training ends.  recorded: whether its runs have records now."""

    def close(self, stopped: bool) -> None:
        """Called when the worker ends.  stopped: whether it was asked to stop."""


class Tracked(Tracking):
    """Tracking by a companion process, which is started with the first pack.

    live_runs: packs of at most this many runs are followed while they train; offline, no packs are.
    """

    def __init__(self, store: Store, sweep: str, destination: Destination, live_runs: int) -> None:
        command = [sys.executable, "-m", "launch.tracking.companion", "--store", str(store.root), "--sweep", sweep]
        command += ["--entity", destination.entity, "--project", destination.project]
        self._command = command if destination.online else [*command, "--offline"]
        self.live_runs = live_runs if destination.online else 0
        self._connection: Connection | None = None
        self._lost = self._closing = self._warned = False
        self._live: list[str] = []
        self._told = 0
        self._state = TRAINING
        self._handed_over = self._finished = 0

    @property
    def waiting(self) -> int:
        """The number of packs that have been trained and are not written to W&B yet."""
        return self._handed_over - self._finished

    def begin(self, runs: Sequence[Run], measures: Measures) -> None:
        """Starts the companion, which imports W&B; if the pack is followed live, the companion opens its runs."""
        self._start()
        self._live, self._told = [run.id for run in runs] if len(runs) <= self.live_runs else [], 0
        if self._live:
            self._say("begin", [described(run, measures) for run in runs])
            self._say("state", self._state)

    def follow(self, journal: "Journal") -> None:
        """Sends new events to the companion; after a resume, all events so far."""
        if not self._live or journal.events == self._told:
            return
        declared = journal.measures.declared
        self._say("rows", {run: list(rows(journal.table(k, self._told), declared)) for k, run in enumerate(self._live)})
        self._told = journal.events

    def state(self, state: str) -> None:
        """Sends the worker's state to the companion; runs that are opened later start with it too."""
        self._state = state
        if self._live:
            self._say("state", state)

    def end(self, runs: Sequence[Run], recorded: bool) -> None:
        """Lets the companion write the runs from their records, or close them."""
        if recorded:
            self._handed_over += 1
            self._say("finish", [run.id for run in runs])
        elif self.live_runs and self._connection is not None:
            self._say("leave")
        self._live = []

    def close(self, stopped: bool) -> None:
        """Waits until all runs are written, or no more answers come; `sync` then finds the missing runs."""
        if self._connection is None:
            return
        self._closing = True
        ended = self._connection.wait(STOPPED_SECONDS if stopped else SILENCE_SECONDS, lambda: self._lost)
        if self.waiting and not ended:
            self._warn("it does not answer")
        self._connection.close()

    def _start(self) -> None:
        """Starts the companion if it does not run; training need not wait for its imports, which take seconds."""
        if self._connection is None and not self._lost:
            try:
                self._connection = Connection(self._command, self._hear, self._ended)
            except OSError as error:
                self._lose(str(error))

    def _say(self, order: str, *content: object) -> None:
        self._start()
        if self._lost or self._connection is None:
            return
        try:
            self._connection.send(order, *content)
        except queue.Full:
            self._lose("it does not keep up")
        except OSError as error:
            self._lose(str(error))

    def _hear(self, answer: Answer) -> None:
        if answer.finished:
            self._finished += 1
        if answer.not_live:
            self._live = []
        if answer.error:
            self._lose(answer.error)
        for reason in [*filter(None, [answer.not_live]), *answer.failed.values()]:
            self._warn(reason)

    def _ended(self, last_line: str) -> None:
        if self.waiting or not self._closing:
            self._lose(f"its process ended ({last_line})" if last_line else "its process ended")

    def _lose(self, reason: str) -> None:
        """Gives the companion up."""
        self._lost = True
        if self._connection is not None:
            self._connection.kill()
        self._warn(reason)

    def _warn(self, reason: str) -> None:
        """Logs one line, for the first fault."""
        if not self._warned:
            self._warned = True
            words = f"{reason.rstrip('.')}{named()}"
            log.warning("W&B: %s. Training goes on; `python -m launch sync` writes the missing runs.", words)


def tracking_of(store: Store, sweep: str, settings: TrackingSettings) -> Tracking:
    """The tracking that a plan asks for."""
    destination = destination_of(settings)
    return Tracking() if destination is None else Tracked(store, sweep, destination, settings.live_runs)
