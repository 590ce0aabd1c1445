"""Training one claimed pack: from its checkpoint, if there is one, to the records of its runs."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from launch.packs.endings import Ending
from launch.packs.leases import Lease
from launch.plan.compiling import marked_as_compiled
from launch.tracking.choice import UNTRACKED, Tracking
from launch.work.keeper import AllOver, Claimed, Heartbeat, PackKeeper, Past, beating
from launch.work.patience import Patience
from launch.work.process import prepare_compiling
from launch.work.recording import end_pack, leave_records, pack_facts
from launch.work.replay_memory import ReplayMemory
from launch.work.stop_signal import seconds_left
from launch.work.task_weights import keeping_weights
from plasticity_lab.assembly import agent_of, assembled, looked_at
from plasticity_lab.benchmarks.benchmark import Resource
from plasticity_lab.environments.processes.choice import ALONE, Processes
from plasticity_lab.errors import HelperLost
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.checkpoint import load_checkpoint
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.kinds import goes_on
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.provenance import provenance, utc_now
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import measures_of
from plasticity_lab.records.training_code import UNKNOWN, differences, made_by, other_kind, parts_from, trained_by
from plasticity_lab.trainer import train
from plasticity_lab.waits import waiting

log = logging.getLogger(__name__)


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
    claimed = Claimed(store, plan, pack, lease, stop, tracking)
    try:
        return _attempt(claimed, resource, device, processes)
    except HelperLost as lost:
        log.warning("%s Pack %s goes on from its last checkpoint, with its worker's process alone.", lost, pack.id)
    tracking.end(plan.runs_of(pack), recorded=False)
    _attempt(claimed, resource, device, ALONE)


def _attempt(claimed: Claimed, resource: Resource, device: str, processes: Processes) -> None:
    with beating(claimed.lease, claimed.plan.settings.launch.lease_seconds) as heartbeat:
        session = Session(claimed, resource, heartbeat)
        session.resume(device, processes)
        session.train()
        session.record()


class Session:
    """One attempt at training a pack: from its checkpoint, if there is one, to the records of its runs.

    learner: as it is alone. observed: the same, looked at by diagnostics. Each method raises as `train_pack`.
    """

    def __init__(self, claimed: Claimed, resource: Resource, heartbeat: Heartbeat) -> None:
        self.claimed, self.resource, self.heartbeat = claimed, resource, heartbeat
        self.runs, self.settings = claimed.plan.runs_of(claimed.pack), claimed.plan.settings
        self.patience = Patience(claimed.stop, heartbeat.alive)
        self.memory = ReplayMemory(claimed.store, claimed.lease, self.settings, lambda: seconds_left(claimed.stop))

    def resume(self, device: str, processes: Processes) -> None:
        """Puts the pack together, at its checkpoint or at its beginning."""
        checkpoint = self._checkpoint()
        self._put_together(torch.device(device), processes)
        if checkpoint is not None:
            self.journal.load(checkpoint["journal"])
            bulk = self.patience.until_done("memory", lambda: self._restored(checkpoint))
            self.observed.load(checkpoint["agent"], bulk)
        self.keeper = PackKeeper(self.claimed, self.heartbeat, self.patience, self.memory, self._past(checkpoint))

    def train(self) -> None:
        """Trains it to its end."""
        store, pack, lease, settings = self.claimed.store, self.claimed.pack, self.claimed.lease, self.settings
        provides = agent_of(self.runs[0]).provides
        learner = keeping_weights(store, pack.id, settings, self.observed, provides, lease.beat)
        self.keeper.write_progress(self.journal)
        self.claimed.tracking.begin(self.runs, self.journal.measures)
        try:
            with marked_as_compiled(self.runs[0], pack):
                train(self.stream, learner, self.journal, self.keeper)
        except AllOver:
            log.info("Every run of pack %s has diverged or was stopped early.", pack.id)

    def record(self) -> None:
        """Leaves the records of its runs, and the mark that it has ended."""
        store, pack, lease, settings = self.claimed.store, self.claimed.pack, self.claimed.lease, self.settings
        source = self._source()

        def leave() -> list[str]:
            lease.beat(surely=True)
            return leave_records(
                store, self.runs, self.journal, self.learner, source, settings.save_weights, settings.rerun
            )

        recorded = self.patience.until_done("records", leave)
        diverged = int((self.journal.diverged > 0).sum())
        ending = Ending("done", error="", diverged=diverged, seconds=source["pack_seconds"])
        self.patience.until_done("end", lambda: end_pack(store, pack, lease, ending, recorded))

    def _checkpoint(self) -> dict[str, Any] | None:
        """The pack's, whose mode is the pack's from now on; None where there is none that can go on here."""
        store, pack = self.claimed.store, self.claimed.pack
        checkpoint = self.patience.until_done("checkpoint", lambda: load_checkpoint(store, pack.id))
        if checkpoint is None or not goes_on(checkpoint["kind"], pack.kind):
            return None
        self.claimed = replace(self.claimed, pack=replace(pack, mode=checkpoint["mode"]))
        return checkpoint

    def _put_together(self, device: torch.device, processes: Processes) -> None:
        """The pack at its beginning."""
        pack, first = self.claimed.pack, self.runs[0]
        if pack.compiled:
            with waiting("compiling", "graphs"):
                prepare_compiling()
        observed = self.settings.save_weights == "tasks"
        self.stream, self.learner = assembled(
            self.runs, self.resource, device, pack.compiled, processes, pack.kernels, observed=observed
        )
        self.observed, columns = looked_at(self.runs, self.resource, self.learner)
        measures = measures_of(first.targets, first.science).with_columns(columns)
        self.journal = Journal(len(self.runs), measures)

    def _restored(self, checkpoint: Mapping[str, Any]) -> Bulk | None:
        """The replay memory; None if it is lost."""
        return self.memory.restored(checkpoint, self.learner.bulk(), self.journal.steps)

    def _past(self, checkpoint: Mapping[str, Any] | None) -> Past:
        """Asked when all that trains has been imported: the parts name its code.

        By which code and on which kind they were trained, checkpoints of earlier versions do not say.
        """
        pack, steps = self.claimed.pack, self.journal.steps
        so_far = [] if checkpoint is None else checkpoint.get("parts", [UNKNOWN])
        now = trained_by(self.runs[0].trained_by, self.resource.packages, pack.kind)
        parts = parts_from(so_far, now, steps)
        _say_if_mixed(pack, parts, steps)
        if checkpoint is None:
            return Past(utc_now(), 0.0, parts)
        return Past(checkpoint["began"], checkpoint["seconds"], parts)

    def _source(self) -> dict[str, Any]:
        """The provenance of its records."""
        past, refills = self.keeper.past, self.memory.refills
        return {
            **provenance(self.resource.packages),
            **pack_facts(self.claimed.pack),
            **made_by(past.parts),
            "device": self.claimed.pack.kind,
            "start": past.began,
            "end": utc_now(),
            "pack_seconds": round(self.keeper.seconds, 3),
            **self.resource.facts,
            **({"memory_refills": refills} if refills else {}),
            "sweep": self.claimed.plan.sweep,
        }


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
