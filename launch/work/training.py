"""Training one claimed pack: from its checkpoint, if one exists, to the records of its runs."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from launch.packs.endings import Ending
from launch.packs.leases import Lease
from launch.packs.progress import Reached, write_progress
from launch.plan.first_compiling import marked_as_compiled
from launch.tracking.client import Tracking
from launch.work.patience import Heartbeat, Patience, Stopped, seconds_left
from launch.work.process import prepare_compiling
from launch.work.recording import Trained, end_pack, leave_records, pack_facts
from launch.work.replay_memory import ReplayMemory
from plasticity_lab.agents.acting.learner import ActingLearner, LearnerWithMemory
from plasticity_lab.agents.agent import Learner, Task
from plasticity_lab.assays.source import moments_to_keep
from plasticity_lab.assembly import agent_of, assembled, looked_at
from plasticity_lab.benchmarks.benchmark import Resource
from plasticity_lab.diagnostics.view import HELD_OUT, OBSERVED
from plasticity_lab.environments.processes.choice import ALONE, Processes
from plasticity_lab.errors import ConfigError, HelperLost
from plasticity_lab.records.checkpoint import load_checkpoint, save_checkpoint
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.film import write_pack_films
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.provenance import provenance, utc_now
from plasticity_lab.records.stopping import rules_of, stop_worse
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import measures_of
from plasticity_lab.records.training_code import differences, made_by, other_kind, parts_from, trained_by
from plasticity_lab.records.weights import TaskWeights, write_pack_weights
from plasticity_lab.trainer import train
from plasticity_lab.waits import seconds_waited, waiting

log = logging.getLogger(__name__)
PROGRESS_SECONDS = 1.0
TRACKING_SECONDS = 5.0
FIRST_CHECKPOINT_SECONDS = 3.0
"""Seconds from the first chunk to the first checkpoint, which proves that the pack trains if the worker vanishes."""


class AllOver(Exception):
    """Every run of the pack has diverged or was stopped early; nothing is left to learn."""


def train_pack(session: "Session") -> None:
    """Trains a pack of a plan to its end and writes a record for each of its runs.

    If a helper process ends, the pack continues from its last checkpoint without helpers. Raises Stopped, LostLease,
    StoreError; any other exception is a failure of the pack.
    """
    asked = session.plan.settings.launch.processes
    try:
        return session.attempt(Processes(session.cores, measured=True) if asked is None else Processes(asked))
    except HelperLost as lost:
        words = "%s Pack %s goes on from its last checkpoint, with its worker's process alone."
        log.warning(words, lost, session.pack.id)
    session.tracking.end(session.runs, recorded=False)
    replace(session).attempt(ALONE)


@dataclass
class Session:
    """One attempt to train a pack, from its checkpoint, if one exists, to the records of its runs.

    pack: a pack with the kind of this device. stop: whether the worker is to stop. cores: the number of cores that this
    worker may use. sharing: the number of workers on its GPU. The trainer calls `look` and `task_ends` while it trains.
    learner: the learner without diagnostics. observed: the learner with diagnostics. began: when the pack was first
    begun, in the records' format. seconds_before: seconds of training before this session. parts: code and kind of
    device of each stretch of training (see `parts_from`). Each method raises the same errors as `train_pack`.
    """

    store: Store
    plan: Plan
    pack: Pack
    resource: Resource
    device: str
    lease: Lease
    stop: Callable[[], bool]
    tracking: Tracking = field(default_factory=Tracking)
    cores: int = 1
    sharing: int = 1

    def __post_init__(self) -> None:
        self.runs, self.settings = self.plan.runs_of(self.pack), self.plan.settings
        self.heartbeat = Heartbeat(self.lease, self.settings.launch.lease_seconds)
        self.patience = Patience(self.stop, self.heartbeat.alive)
        self.memory = ReplayMemory(self.store, self.lease, self.settings, lambda: seconds_left(self.stop))
        self.rules = rules_of(self.settings.stopping, self.pack.runs)
        self.every = {
            "checkpoint": self.settings.checkpoint_minutes * 60,
            "progress": PROGRESS_SECONDS,
            "tracking": TRACKING_SECONDS,
        }
        self.looked = self.unsaved = False

    def attempt(self, processes: Processes) -> None:
        """Resumes, trains and records the pack."""
        with self.heartbeat.beating():
            self.resume(processes)
            self.train()
            self.record()

    def resume(self, processes: Processes) -> None:
        """Builds stream, learner and journal, and loads the checkpoint, if one can go on here."""
        checkpoint = self.patience.until_done("checkpoint", lambda: load_checkpoint(self.store, self.pack.id))
        if checkpoint is not None and checkpoint["kind"] != self.pack.kind:
            checkpoint = None
        if checkpoint is not None:
            self.pack = replace(self.pack, mode=checkpoint["mode"])
        self._build(processes)
        if checkpoint is not None:
            self.journal.load(checkpoint["journal"])
            memory, steps = self.learner.bulk(), self.journal.steps
            bulk = self.patience.until_done("memory", lambda: self.memory.restored(checkpoint, memory, steps))
            self.observed.load(checkpoint["agent"], bulk)
        # Only now, after everything that trains is imported: the parts name its code.
        parts_before = [] if checkpoint is None else checkpoint["parts"]
        now = trained_by(self.runs[0].trained_by, self.resource.packages, self.pack.kind)
        self.parts = parts_from(parts_before, now, self.journal.steps)
        _say_if_mixed(self.pack, self.parts, self.journal.steps)
        self.began = utc_now() if checkpoint is None else checkpoint["began"]
        self.seconds_before = 0.0 if checkpoint is None else checkpoint["seconds"]
        self.resumed, self.waited = time.monotonic(), seconds_waited()
        self.last = dict.fromkeys(self.every, self.resumed)

    def train(self) -> None:
        """Trains the pack to its end."""
        self._write_progress(self.journal)
        self.tracking.begin(self.runs, self.journal.measures)
        try:
            with marked_as_compiled(self.runs[0], self.pack):
                train(self.stream, self.observed, self.journal, self)
        except AllOver:
            log.info("Every run of pack %s has diverged or was stopped early.", self.pack.id)

    def record(self) -> None:
        """Writes the records of the runs, and the mark that the pack has ended."""
        source = self._source()
        trained = Trained(self.runs, self.journal, self.learner, source)
        how = (self.store, self.lease, trained, self.settings)
        recorded = self.patience.until_done("records", lambda: leave_records(*how))
        diverged = int((self.journal.diverged > 0).sum())
        ending = Ending("done", error="", diverged=diverged, seconds=source["pack_seconds"])
        self.patience.until_done("end", lambda: end_pack(self.store, self.pack, self.lease, ending, recorded))

    def _source(self) -> dict[str, Any]:
        """The provenance of the records of a pack that ends now."""
        return {
            **provenance(self.resource.packages),
            **pack_facts(self.pack),
            **made_by(self.parts),
            "device": self.pack.kind,
            "start": self.began,
            "end": utc_now(),
            "pack_seconds": round(self.seconds, 3),
            **self.resource.facts,
            **({"memory_refills": self.memory.refills} if self.memory.refills else {}),
            "sweep": self.plan.sweep,
        }

    @property
    def seconds(self) -> float:
        """Seconds of training so far, including those before a resume, without the time spent compiling or waiting."""
        return self.seconds_before + time.monotonic() - self.resumed - (seconds_waited() - self.waited)

    def look(self, learner: Learner, journal: Journal) -> None:
        """Reports and saves when each is due; while the store does not work, training goes on and it is tried later.

        Raises Stopped after a checkpoint, LostLease if another worker has taken the pack over, AllOver; StoreError.
        """
        self.heartbeat.alive()
        stop_worse(journal, self.rules)
        if not self.looked:
            self.looked, every = True, self.every["checkpoint"]
            self.last["checkpoint"] = time.monotonic() + min(FIRST_CHECKPOINT_SECONDS, every) - every
        now = time.monotonic()
        due = [what for what, seconds in self.every.items() if now - self.last[what] >= seconds]
        self.last |= dict.fromkeys(due, now)
        if "progress" in due:
            self._write_progress(journal)
        if "tracking" in due:
            self.tracking.follow(journal)
        if journal.over.all():
            raise AllOver
        if self.stop():
            # Even if the pause after a fault still lasts: this is the last moment.
            try:
                self.save(learner, journal, stopping=True)
            except StoreFault as fault:
                log.warning("%s Pack %s goes back to the checkpoint before.", fault, self.pack.id)
            raise Stopped
        if "checkpoint" in due or self.unsaved:
            self.unsaved = not self.patience.tried("checkpoint", lambda: self.save(learner, journal))

    def task_ends(self, learner: Learner, task: Task) -> None:
        """Writes the films of the last task's end and the weights of a task's end, if the settings ask for them.

        The probe of an acting agent is written too, since only this run has met these observations. Other agents can
        lay out their held-out examples again. Raises LostLease if another worker has the pack; StoreError.
        """
        settings, provides = self.settings, agent_of(self.runs[0]).provides
        if settings.save_video == "last" and isinstance(self.learner, ActingLearner):
            self._film(self.learner, task)
        if settings.save_weights != "tasks" or (task.position + 1) % settings.save_weights_every:
            return
        probe: Mapping[str, torch.Tensor] = {}
        if OBSERVED in provides and HELD_OUT not in provides:
            probe = learner.view(task).probe
            if settings.assay_rows and isinstance(self.learner, LearnerWithMemory):
                probe = {**probe, **self.learner.kept_inputs(settings.assay_rows)}
        moments = moments_to_keep(self.learner.network) if settings.save_moments else {}
        shared = {name: value for name, value in probe.items() if value.dim() < 2}
        of_runs = {name: value for name, value in probe.items() if value.dim() >= 2}
        weights = TaskWeights(learner.weights(), of_runs, shared, moments)
        self.lease.beat()
        write_pack_weights(self.store, self.pack.id, task.position, weights)

    def _film(self, learner: ActingLearner, task: Any) -> None:
        """Writes the films of the runs after their last task; a record takes its run's film over."""
        if task.position + 1 == learner.parts.benchmark.tasks:
            try:
                films = learner.film(task)
            except ConfigError as error:
                log.warning("%s The runs of pack %s have no film.", error, self.pack.id)
                return
            self.lease.beat()
            write_pack_films(self.store, self.pack.id, films)

    def save(self, learner: Learner, journal: Journal, stopping: bool = False) -> None:
        """Writes the pack's checkpoint: everything that another process needs to go on bit for bit.

        If going back to the previous one costs less (see `ReplayMemory`), nothing is written. Raises LostLease,
        StoreError.
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

    def _build(self, processes: Processes) -> None:
        """Stream, learner and journal of the pack at its beginning."""
        pack, first, device = self.pack, self.runs[0], torch.device(self.device)
        if pack.compiled:
            with waiting("compiling", "graphs"):
                prepare_compiling()
        observed, compressed = self.settings.save_weights == "tasks", self.settings.replay_memory_compressed
        how = device, pack.compiled, processes, pack.kernels, observed, compressed, self.sharing
        self.stream, self.learner = assembled(self.runs, self.resource, *how)
        self.observed, columns = looked_at(self.runs, self.resource, self.learner, device, pack.compiled, pack.kernels)
        measures = measures_of(first.targets, first.science).with_columns(columns)
        self.journal = Journal(len(self.runs), measures)

    def _write_progress(self, journal: Journal) -> None:
        """Writes how far the pack is, if the store works now."""
        progress = Reached(
            int(journal.steps),
            int((journal.diverged > 0).sum()),
            round(self.seconds, 3),
            journal.lately(),
            tuple(self.parts),
            tuple(self.memory.refills),
        )
        self.patience.tried("progress", lambda: write_progress(self.store, self.pack.id, progress))


def _say_if_mixed(pack: Pack, parts: Sequence[Mapping[str, Any]], step: int) -> None:
    """Logs a warning if a pack continues at this step by other code, or on another kind of device."""
    if len(parts) > 1 and parts[-1]["from_step"] == step:
        before, now = parts[-2:]
        code, kind = differences(before, now), other_kind(before, now)
        other = [*(["by other code"] if code else []), *(["on another kind of device"] if kind else [])]
        log.warning(
            "Pack %s goes on at step %s %s than before (%s): its records list the parts; "
            "rerun=true trains its runs again.",
            pack.id,
            f"{step:,}",
            " and ".join(other),
            "; ".join([*code, *([kind] if kind else [])]),
        )
