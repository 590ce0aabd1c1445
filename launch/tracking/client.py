"""How a worker follows its packs, so that their runs appear in W&B.

A worker never imports wandb and never waits for it: a companion process writes the runs, and a queue holds its orders.
The records in the store are always written first.
"""

import logging
import queue
import sys
from collections.abc import Sequence

from launch.tracking.connection import BEGIN, FINISH, LEAVE, ROWS, STATE, Answer, Connection, described
from launch.tracking.wandb.content import rows
from launch.tracking.wandb.environment import named
from launch.tracking.wandb.marks import Destination, destination_of
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.measures import Measures
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run
from plasticity_lab.waits import TRAINING

log = logging.getLogger(__name__)
SILENCE_SECONDS = 120.0
"""After training everything, a worker waits at most this long from one written run to the next."""
STOPPED_SECONDS = 20.0
"""A stopped worker waits at most this long until its open runs are closed."""


class Tracking:
    """Follows one pack after another; this one does nothing (tracking=store)."""

    def begin(self, runs: Sequence[Run], measures: Measures) -> None:
        """Called when a pack begins, or continues.  measures: the measures of its journal."""

    def follow(self, journal: Journal) -> None:
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
            self._say(BEGIN, [described(run, measures) for run in runs])
            self._say(STATE, self._state)

    def follow(self, journal: Journal) -> None:
        """Sends new events to the companion; after a resume, all events so far."""
        if not self._live or journal.events == self._told:
            return
        declared = journal.measures.declared
        self._say(ROWS, {run: list(rows(journal.table(k, self._told), declared)) for k, run in enumerate(self._live)})
        self._told = journal.events

    def state(self, state: str) -> None:
        """Sends the worker's state to the companion; runs that are opened later start with it too."""
        self._state = state
        if self._live:
            self._say(STATE, state)

    def end(self, runs: Sequence[Run], recorded: bool) -> None:
        """Lets the companion write the runs from their records, or close them."""
        if recorded:
            self._handed_over += 1
            self._say(FINISH, [run.id for run in runs])
        elif self.live_runs and self._connection is not None:
            self._say(LEAVE)
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
