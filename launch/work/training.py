"""Training one claimed pack: from its checkpoint, if there is one, to the records of its runs."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from launch.packs.bindings import Binding, write_binding
from launch.packs.endings import Ending
from launch.packs.heartbeat import Heartbeat
from launch.packs.leases import Lease
from launch.packs.progress import write_progress
from launch.plan.first_compiling import marked_as_compiled
from launch.tracking.choice import UNTRACKED, Tracking
from launch.work.patience import Patience, Stopped
from launch.work.process import prepare_compiling
from launch.work.recording import end_pack, leave_records, pack_facts
from launch.work.replay_memory import ReplayMemory
from launch.work.stop_signal import seconds_left
from launch.work.task_weights import keeping_weights
from plasticity_lab.agents.agent import Learner
from plasticity_lab.assembly import agent_of, assembled, looked_at
from plasticity_lab.benchmarks.benchmark import Resource
from plasticity_lab.environments.processes.choice import ALONE, Processes
from plasticity_lab.errors import HelperLost
from plasticity_lab.records.checkpoint import load_checkpoint, save_checkpoint
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.kinds import goes_on
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.provenance import provenance, utc_now
from plasticity_lab.records.settings import StopRule
from plasticity_lab.records.stopping import rules_of, stop_worse
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import measures_of
from plasticity_lab.records.training_code import UNKNOWN, differences, made_by, other_kind, parts_from, trained_by
from plasticity_lab.trainer import train
from plasticity_lab.waits import seconds_waited, waiting

log = logging.getLogger(__name__)
PROGRESS_SECONDS = 1.0
TRACKING_SECONDS = 5.0
FIRST_CHECKPOINT_SECONDS = 3.0
"""The first one comes this soon after the first chunk: then a worker that vanishes has shown that the pack trains."""


class AllOver(Exception):
    """Every run of the pack has diverged or was stopped early; nothing is left to learn."""


class PackKeeper:
    """Looks after one pack while it trains: its lease, its progress, its checkpoints.

    pack: with the kind and mode in which it is trained. began: when it was first begun, as records write it. before:
    seconds of training before a resume. parts: by which code it has been trained, as `parts_from` has them. rules: by
    which each of its runs is stopped early; None where it is not.
    """

    def __init__(
        self,
        store: Store,
        pack: Pack,
        lease: Lease,
        heartbeat: Heartbeat,
        checkpoint_minutes: float,
        stop: Callable[[], bool],
        patience: Patience,
        began: str,
        before: float,
        parts: Sequence[Mapping[str, Any]],
        memory: ReplayMemory,
        tracking: Tracking,
        rules: Sequence[StopRule | None],
    ) -> None:
        self.store, self.pack, self.lease, self.heartbeat, self.stop = store, pack, lease, heartbeat, stop
        self.patience, self.parts, self.memory, self.rules = patience, parts, memory, rules
        self.began, self.before, self.resumed, self.tracking = began, before, time.monotonic(), tracking
        self.waited = seconds_waited()
        self.every = {
            "checkpoint": checkpoint_minutes * 60,
            "progress": PROGRESS_SECONDS,
            "tracking": TRACKING_SECONDS,
        }
        self.last = dict.fromkeys(self.every, self.resumed)
        self.looked = self.unsaved = self.bound = False

    @property
    def seconds(self) -> float:
        """Seconds of training so far, those before a resume included; while it compiles no time passes."""
        return self.before + time.monotonic() - self.resumed - (seconds_waited() - self.waited)

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
            self.patience.tried("progress", lambda: self._write_progress(journal))
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
            "parts": list(self.parts),
            "began": self.began,
            "seconds": self.seconds,
        }
        save_checkpoint(self.store, self.pack.id, self.lease.epoch, payload)
        self.memory.is_kept(memory)
        if not self.bound:
            # Only now: what an earlier version began on a kind that it did not keep could go on anywhere until then.
            write_binding(self.store, self.pack.id, Binding(self.pack.kind, self.pack.mode, self.pack.width))
            self.bound = True

    def _write_progress(self, journal: Journal) -> None:
        write_progress(self.store, self.pack, journal, self.seconds, self.parts, self.memory.refills)

    def _due(self, what: str) -> bool:
        now = time.monotonic()
        if now - self.last[what] < self.every[what]:
            return False
        self.last[what] = now
        return True


def train_pack(
    store: Store,
    plan: Plan,
    pack: Pack,
    resource: Resource,
    device: str,
    lease: Lease,
    stop: Callable[[], bool],
    tracking: Tracking = UNTRACKED,
    cores: int = 1,
) -> None:
    """Trains a pack of a plan to its end and leaves a record for each of its runs.

    pack: with the kind of this device. cores: that this worker may use. Where a process that helps it ends, it goes on
    from the last checkpoint, alone.
    Raises Stopped, LostLease, StoreError; whatever else it raises is a failure of the pack.
    """
    asked = plan.settings.launch.processes
    processes = Processes(cores, measured=True) if asked is None else Processes(asked)
    given = (store, plan, pack, resource, device, lease, stop, tracking)
    try:
        return _train(*given, processes)
    except HelperLost as lost:
        log.warning("%s Pack %s goes on from its last checkpoint, with its worker's process alone.", lost, pack.id)
    tracking.end(plan.runs_of(pack), recorded=False)
    _train(*given, ALONE)


def _train(
    store: Store,
    plan: Plan,
    pack: Pack,
    resource: Resource,
    device: str,
    lease: Lease,
    stop: Callable[[], bool],
    tracking: Tracking,
    processes: Processes,
) -> None:
    runs, settings = plan.runs_of(pack), plan.settings
    with Heartbeat(lease, settings.launch.lease_seconds) as heartbeat:
        patience = Patience(stop, heartbeat.alive)
        begun = patience.until_done("checkpoint", lambda: load_checkpoint(store, pack.id))
        if begun is not None and goes_on(begun["kind"], pack.kind):
            pack = replace(pack, mode=begun["mode"])
        else:
            begun = None
        if pack.compiled:
            with waiting("compiling", "graphs"):
                prepare_compiling()
        stream, learner = assembled(
            runs,
            resource,
            torch.device(device),
            pack.compiled,
            processes,
            pack.kernels,
            observed=settings.save_weights == "tasks",
        )
        seen, columns = looked_at(runs, resource, learner)
        kept = keeping_weights(store, pack.id, settings, seen, agent_of(runs[0]).provides, lease.beat)
        measures = measures_of(runs[0].targets, runs[0].science).with_columns(columns)
        journal, began, before = Journal(len(runs), measures), utc_now(), 0.0
        memory = ReplayMemory(store, lease, settings, lambda: seconds_left(stop))
        if begun is not None:
            state = begun
            journal.load(state["journal"])
            bulk = patience.until_done("memory", lambda: memory.restored(state, learner.bulk(), journal.steps))
            seen.load(state["agent"], bulk)
            began, before = begun["began"], begun["seconds"]
        # Only now has all that trains been imported.
        parts = parts_from(
            _parts_so_far(begun), trained_by(runs[0].trained_by, resource.packages, pack.kind), journal.steps
        )
        _say_if_mixed(pack, parts, journal.steps)
        keeper = PackKeeper(
            store,
            pack,
            lease,
            heartbeat,
            settings.checkpoint_minutes,
            stop,
            patience,
            began,
            before,
            parts,
            memory,
            tracking,
            rules_of(settings.stopping, pack.runs),
        )
        patience.tried("progress", lambda: write_progress(store, pack, journal, before, parts, memory.refills))
        tracking.begin(runs, measures)
        try:
            with marked_as_compiled(runs[0], pack):
                train(stream, kept, journal, keeper)
        except AllOver:
            log.info("Every run of pack %s has diverged or was stopped early.", pack.id)
        source = provenance(resource.packages) | pack_facts(pack) | made_by(parts)
        source |= {
            "device": pack.kind,
            "start": began,
            "end": utc_now(),
            "pack_seconds": round(keeper.seconds, 3),
            **resource.facts,
            **({"memory_refills": memory.refills} if memory.refills else {}),
            "sweep": plan.sweep,
        }

        def record() -> list[str]:
            lease.beat(surely=True)
            return leave_records(store, runs, journal, learner, source, settings.save_weights, settings.rerun)

        recorded = patience.until_done("records", record)
        diverged = int((journal.diverged > 0).sum())
        ending = Ending("done", error="", diverged=diverged, seconds=source["pack_seconds"])
        patience.until_done("end", lambda: end_pack(store, pack, lease, ending, recorded))


def _parts_so_far(begun: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    """By which code and on which kind a checkpoint was trained; those of earlier versions do not say it."""
    return [] if begun is None else begun.get("parts", [UNKNOWN])


def _say_if_mixed(pack: Pack, parts: Sequence[Mapping[str, Any]], step: int) -> None:
    """Says that a pack goes on at this step by other code, or on another kind, than so far, where it does."""
    if len(parts) > 1 and parts[-1]["from_step"] == step:
        before, now = parts[-2:]
        code, kind = differences(before, now), other_kind(before, now)
        other = [*(["by other code"] if code else []), *(["on another kind of device"] if kind else [])]
        log.warning(
            "Pack %s goes on at step %s %s than it was trained by so far (%s): its records list the parts; "
            "rerun=true trains its runs anew.",
            pack.id,
            f"{step:,}",
            " and ".join(other),
            "; ".join([*code, *([kind] if kind else [])]),
        )
