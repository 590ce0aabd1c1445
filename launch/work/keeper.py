"""The duties of a worker while it trains a pack: its lease, its progress, its checkpoints, and the signal to stop."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launch.packs.begun_otherwise import Binding, write_binding
from launch.packs.leases import Lease, LostLease
from launch.packs.progress import write_progress
from launch.tracking.choice import Tracking
from launch.work.patience import Patience, Stopped
from launch.work.replay_memory import ReplayMemory
from plasticity_lab.agents.agent import Learner
from plasticity_lab.errors import StoreError
from plasticity_lab.process.beside import beside
from plasticity_lab.records.checkpoint import save_checkpoint
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.stopping import rules_of, stop_worse
from plasticity_lab.records.store import Store
from plasticity_lab.waits import seconds_waited

log = logging.getLogger(__name__)
BEATS_A_LEASE = 10
AGAIN_SECONDS = 1.0
"""How soon a touch that a full, read-only or unreachable store refused is tried again."""
LONGEST_STEP_SECONDS = 1800.0
"""A worker that has not shown itself for this long hangs, whatever it is doing; its lease is then left to run out."""
PROGRESS_SECONDS = 1.0
TRACKING_SECONDS = 5.0
FIRST_CHECKPOINT_SECONDS = 3.0
"""The first one comes this soon after the first chunk: then a worker that vanishes has shown that the pack trains."""


class Heartbeat:
    """Touches a lease now and then, while the worker shows signs of life; a store that does not work is tried again.

    seconds: how long the lease holds untouched.
    """

    def __init__(self, lease: Lease, seconds: float) -> None:
        self._lease, self._every = lease, seconds / BEATS_A_LEASE
        self._seen = time.monotonic()
        self._ended: LostLease | StoreError | None = None

    def alive(self) -> None:
        """A sign of life.  Raises LostLease if another worker has taken the pack over; StoreError."""
        self._seen = time.monotonic()
        if self._ended is not None:
            raise self._ended

    def beat(self, over: threading.Event) -> None:
        """Beats until that is set, or the lease is lost."""
        pause = self._every
        while not over.wait(pause):
            pause = self._every
            if time.monotonic() - self._seen > LONGEST_STEP_SECONDS:
                continue
            try:
                self._lease.beat()
            except StoreFault:
                pause = min(self._every, AGAIN_SECONDS)  # the lease may not have run out when the store works again
            except (LostLease, StoreError) as error:
                self._ended = error
                return


@contextlib.contextmanager
def beating(lease: Lease, seconds: float) -> Iterator[Heartbeat]:
    """While this lasts, a lease has a heartbeat.  seconds: how long it holds untouched."""
    heartbeat = Heartbeat(lease, seconds)
    with beside(f"heartbeat of {lease.pack}", heartbeat.beat):
        yield heartbeat


class AllOver(Exception):
    """Every run of the pack has diverged or was stopped early; nothing is left to learn."""


@dataclass(frozen=True)
class Claimed:
    """A pack that a worker has claimed.

    pack: with the kind and mode in which it is trained. stop: whether the worker is to stop.
    """

    store: Store
    plan: Plan
    pack: Pack
    lease: Lease
    stop: Callable[[], bool]
    tracking: Tracking


@dataclass(frozen=True)
class Past:
    """How a pack was trained before this worker had it: nothing, or as its checkpoint says.

    began: when it was first begun, as records write it. seconds: of training. parts: by which code it was trained, this
    worker's included, as `parts_from` has them.
    """

    began: str
    seconds: float
    parts: Sequence[Mapping[str, Any]]


class PackKeeper:
    """Looks after one pack while it trains: its lease, its progress, its checkpoints."""

    def __init__(
        self, claimed: Claimed, heartbeat: Heartbeat, patience: Patience, memory: ReplayMemory, past: Past
    ) -> None:
        settings = claimed.plan.settings
        self.store, self.pack, self.lease, self.stop = claimed.store, claimed.pack, claimed.lease, claimed.stop
        self.heartbeat, self.patience, self.memory, self.past = heartbeat, patience, memory, past
        self.tracking, self.rules = claimed.tracking, rules_of(settings.stopping, claimed.pack.runs)
        self.resumed, self.waited = time.monotonic(), seconds_waited()
        self.every = {
            "checkpoint": settings.checkpoint_minutes * 60,
            "progress": PROGRESS_SECONDS,
            "tracking": TRACKING_SECONDS,
        }
        self.last = dict.fromkeys(self.every, self.resumed)
        self.looked = self.unsaved = self.bound = False

    @property
    def seconds(self) -> float:
        """Seconds of training so far, those before a resume included; while it compiles no time passes."""
        return self.past.seconds + time.monotonic() - self.resumed - (seconds_waited() - self.waited)

    def look(self, learner: Learner, journal: Journal) -> None:
        """Reports and saves when each is due; where the store does not work, training goes on and it is tried later.

        Raises Stopped after a checkpoint, LostLease if another worker has taken the pack over, AllOver; StoreError.
        """
        self.heartbeat.alive()
        stop_worse(journal, self.rules)
        if not self.looked:
            self.looked, every = True, self.every["checkpoint"]
            self.last["checkpoint"] = time.monotonic() + min(FIRST_CHECKPOINT_SECONDS, every) - every
        if self._due("progress"):
            self.write_progress(journal)
        if self._due("tracking"):
            self.tracking.follow(journal)
        if journal.over.all():
            raise AllOver
        stopping = self.stop()
        if stopping:
            # However long the pause would still be: this is the last moment.
            try:
                self.save(learner, journal, stopping=True)
            except StoreFault as fault:
                log.warning("%s Pack %s goes back to the checkpoint before.", fault, self.pack.id)
            raise Stopped
        if self._due("checkpoint") or self.unsaved:
            self.unsaved = not self.patience.tried("checkpoint", lambda: self.save(learner, journal))

    def save(self, learner: Learner, journal: Journal, stopping: bool = False) -> None:
        """Writes the pack's checkpoint, all that another process needs to go on bit for bit, unless going back to the
        one before costs less (see `ReplayMemory`).  Raises LostLease, StoreError.
        """
        self.lease.beat()
        memory = self.memory.to_keep(learner.bulk(), stopping)
        if memory is None:
            return
        payload = {
            "agent": learner.state(),
            **memory,
            "journal": journal.state(),
            "columns": [column.as_json() for column in journal.measures.columns],
            "mode": self.pack.mode,
            "kind": self.pack.kind,
            "parts": list(self.past.parts),
            "began": self.past.began,
            "seconds": self.seconds,
        }
        save_checkpoint(self.store, self.pack.id, self.lease.epoch, payload)
        self.memory.is_kept(memory)
        if not self.bound:
            # Only now: what an earlier version began on a kind that it did not keep could go on anywhere until then.
            write_binding(self.store, self.pack.id, Binding(self.pack.kind, self.pack.mode, self.pack.width))
            self.bound = True

    def write_progress(self, journal: Journal) -> None:
        """Says in the store how far the pack is, if the store lets it be done now."""
        far = (self.seconds, self.past.parts, self.memory.refills)
        self.patience.tried("progress", lambda: write_progress(self.store, self.pack, journal, *far))

    def _due(self, what: str) -> bool:
        now = time.monotonic()
        if now - self.last[what] < self.every[what]:
            return False
        self.last[what] = now
        return True
