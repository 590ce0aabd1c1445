"""Training one claimed pack: from its checkpoint, if there is one, to the records of its runs."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from launch.leases import Lease
from launch.planner import Pack
from launch.progress import write_progress
from plasticity_lab.agents.agent import Agent
from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.stream import Stream
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.records.checkpoint import clear_pack, load_checkpoint, save_checkpoint
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.provenance import provenance, utc_now
from plasticity_lab.records.record import new_record, write_metrics, write_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.summary import collapsed, summarise
from plasticity_lab.records.weights import write_weights
from plasticity_lab.trainer import train

log = logging.getLogger(__name__)
PROGRESS_SECONDS = 1.0
BEATS_A_LEASE = 10


class Stopped(Exception):
    """The worker was asked to stop; the pack's checkpoint is written."""


class AllDiverged(Exception):
    """No run of the pack has a finite loss any more; nothing is left to learn."""


class PackKeeper:
    """Looks after one pack while it trains. The lease is beaten before anything is written."""

    def __init__(
        self,
        store: Store,
        pack: Pack,
        lease: Lease,
        settings: Mapping[str, Any],
        stop: Callable[[], bool],
        before: float,
    ) -> None:
        self.store, self.pack, self.lease, self.stop, self.before = store, pack, lease, stop, before
        self.every = {"checkpoint": settings["checkpoint_minutes"] * 60, "progress": PROGRESS_SECONDS,
                      "beat": settings["lease_seconds"] / BEATS_A_LEASE}  # fmt: skip
        self.began = time.monotonic()
        self.last = dict.fromkeys(self.every, self.began)

    @property
    def seconds(self) -> float:
        """Seconds of training so far, those before a resume included."""
        return self.before + time.monotonic() - self.began

    def look(self, agent: Agent, journal: Journal) -> None:
        """Beats, reports and saves when each is due.

        Raises Stopped after a checkpoint, LostLease if another worker has taken the pack over, AllDiverged.
        """
        if self._due("beat"):
            self.lease.beat()
        if self._due("progress"):
            write_progress(self.store, self.pack, journal)
        if journal.diverged.all():
            raise AllDiverged
        stopping = self.stop()
        if stopping or self._due("checkpoint"):
            self.lease.beat()
            self.save(agent, journal)
        if stopping:
            raise Stopped

    def save(self, agent: Agent, journal: Journal) -> None:
        """Writes the pack's checkpoint: all that another process needs to go on bit for bit."""
        payload = {
            "agent": agent.state(),
            "journal": journal.state(),
            "mode": self.pack.mode,
            "kind": self.pack.kind,
            "seconds": self.seconds,
        }
        save_checkpoint(self.store, self.pack.id, self.lease.epoch, payload)

    def _due(self, what: str) -> bool:
        now = time.monotonic()
        if now - self.last[what] < self.every[what]:
            return False
        self.last[what] = now
        return True


def train_pack(
    store: Store,
    pack: Pack,
    runs: Sequence[Mapping[str, Any]],
    image_set: ImageSet,
    device: str,
    lease: Lease,
    settings: Mapping[str, Any],
    stop: Callable[[], bool],
) -> None:
    """Trains a pack to its end and leaves a record for each of its runs.

    Raises Stopped, LostLease, StoreError; whatever else it raises is a failure of the pack.
    """
    stream, agent = assembled(runs, image_set, torch.device(device), pack.mode == "compiled")
    journal, before = Journal(len(runs)), 0.0
    begun = load_checkpoint(store, pack.id)
    if begun is not None:
        agent.load(begun["agent"])
        journal.load(begun["journal"])
        before = begun["seconds"]
    keeper = PackKeeper(store, pack, lease, settings, stop, before)
    source = provenance()
    write_progress(store, pack, journal)
    try:
        train(stream, agent, journal, keeper)
    except AllDiverged:
        log.info("pack %s: every run has diverged", pack.id)
    lease.beat()
    source |= _pack_facts(pack) | {
        "device": device if pack.kind == "cpu" else pack.kind,
        "end": utc_now(),
        "pack_seconds": round(keeper.seconds, 3),
        "data": image_set.name,
        "data_part": image_set.part,
    }
    _leave_records(store, runs, journal, agent, stream, source, settings["save_weights"])
    lease.finish({"status": "done", "runs": list(pack.runs)})
    clear_pack(store, pack.id)


def fail_pack(store: Store, pack: Pack, runs: Sequence[Mapping[str, Any]], lease: Lease, error: str) -> None:
    """Records a pack that cannot be trained: each of its runs as failed, with the reason."""
    lease.beat()
    for run in runs:
        write_record(store, new_record(run, "failed", provenance() | _pack_facts(pack), error=error))
    lease.finish({"status": "failed", "runs": list(pack.runs), "error": error})
    clear_pack(store, pack.id)


def _leave_records(
    store: Store,
    runs: Sequence[Mapping[str, Any]],
    journal: Journal,
    agent: Agent,
    stream: Stream,
    source: Mapping[str, Any],
    save_weights: str,
) -> None:
    weights = agent.weights() if save_weights == "final" else None
    seconds = source["pack_seconds"] / len(runs)
    for k, run in enumerate(runs):
        table = journal.table(k)
        write_metrics(store, run["id"], table)
        if weights is not None:
            write_weights(store, run["id"], {name: value[k].clone() for name, value in weights.items()})
        diverged_at = int(journal.diverged[k])
        record = new_record(
            run,
            "diverged" if diverged_at else "done",
            source,
            summary=summarise(table, agent.model.size, seconds),
            collapsed=collapsed(table, stream.image_set.classes),
            diverged_at_step=diverged_at or None,
        )
        write_record(store, record)


def _pack_facts(pack: Pack) -> dict[str, Any]:
    return {"pack": pack.id, "attempt": pack.attempt, "width": pack.width, "share": 1 / pack.width, "mode": pack.mode}
