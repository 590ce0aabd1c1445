"""What a Slurm job of a sweep runs: a worker, and its answers to Slurm's signals.

A worker must leave for one of five reasons, each time so that the right thing happens:

- its time is nearly up, or it is to make room on a cluster that announces it (SIGUSR2, SIGUSR1): write a checkpoint and
  ask Slurm to put the job back into the queue, until it has (see `leaving`);
- it is preempted, or cancelled (SIGTERM, and nobody says which): write a checkpoint and wait to be killed. Slurm puts
  what it preempted back into the queue by itself; a job that ended within its grace time would count as finished, and
  one that put itself back could not be cancelled;
- the sweep is cancelled (a file in the store, which it looks for as it trains): write a checkpoint and end;
- its node is lost: nobody says anything. Slurm starts the job again elsewhere, which goes on from the last checkpoint.
  If the worker is still alive on the lost node, it finds its lease taken and ends.

submitit answers the same signals, but only logs SIGTERM and counts preemptions of short jobs as time limits reached.
"""

import logging
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from launch.launchers.slurm import cluster
from launch.launchers.slurm.cancellation import Cancelled
from launch.launchers.slurm.leaving import leave
from launch.launchers.slurm.own_jobs import own_jobs, states_of_sweeps
from launch.launchers.slurm.signals import EARLY_SECONDS, JobSignals
from launch.launchers.slurm.submissions import Outcome, decide, submissions_of
from launch.packs.owner import Owner, this_owner
from plasticity_lab.errors import ConfigError, PlasticityError, StoreError
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.store import Store

log = logging.getLogger("launch.launchers.slurm.job")
ASK_SECONDS = 600.0
"""How soon Slurm is asked for a job's time limit again, where it did not say any."""
PATIENCE_IN_LEASES = 2
"""When others have held all packs that are left for this many leases, they are alive: this worker ends."""


@dataclass(frozen=True)
class JobWorker:
    """A worker of a sweep in a job of Slurm's.  Calling it ends the process, with status 1 if something failed.

    gpu: whether it trains on the GPU that Slurm gives it.
    kind: of device that the plan is for.
    warning_seconds: how long before its time limit a job may get the signal that its time is up.
    starts: how often it may start anew.
    submission: the number of the submission that it is of.
    cancellations: how often the sweep had been cancelled when it was asked for.
    """

    store: str
    sweep: str
    gpu: bool
    kind: str
    warning_seconds: float
    starts: int
    submission: int
    cancellations: int

    def __call__(self, signals: JobSignals | None = None) -> None:
        """Works until nothing is left, or Slurm or `cancel` says otherwise.  signals: those it was sent so far."""
        signals = signals or JobSignals()
        logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S")
        logging.getLogger("launch").setLevel(logging.INFO)
        try:
            status = self._work(signals)
        except PlasticityError as error:
            log.error("%s", error)
            status = 1
        # Without a result for submitit: nobody reads it, and it would be one more file.
        sys.stdout.flush()
        sys.exit(status)

    def _work(self, signals: JobSignals) -> int:
        from launch.plan.device import kind_of
        from launch.work.process import prepare_process
        from launch.work.worker import OutOfTime, Superseded, work
        from plasticity_lab.records.kinds import device_name, sort_of
        from plasticity_lab.records.plan import read_plan

        store, job, restart = Store(self.store), this_job(), int(os.environ.get("SLURM_RESTART_COUNT") or 0)
        log.info("Worker of sweep %s in job %s on %s, start %d", self.sweep, job, os.uname().nodename, restart + 1)
        if not store.plan(self.sweep).exists():
            raise StoreError(
                f"This node does not see sweep {self.sweep} in {store.root}, where it was planned: the store must lie "
                "on a file system that all nodes share; `python -m launch doctor` looks whether one does."
            )
        cancelled = Cancelled(store, self.sweep, self.cancellations)
        if cancelled():
            log.info("The sweep was cancelled.")
            return 0
        if self._given_up(store):
            return 0
        prepare_process()
        device = self._device()
        kind = kind_of(device)
        if sort_of(kind) != sort_of(self.kind):
            raise ConfigError(
                f"The packs are planned for {self.kind}, and job {job} was given a {device_name(kind)}; "
                "hydra.launcher.constraint or gres asks for one kind of node, device_kind says which to plan for."
            )
        patience = PATIENCE_IN_LEASES * read_plan(store, self.sweep).settings.launch.lease_seconds
        well, again = True, False
        try:
            time_for = _time_until(job, self.warning_seconds)
            cores = int(os.environ.get("SLURM_CPUS_PER_TASK") or 1)
            died = partial(_died_of_memory, store)
            may_come = partial(_others_wait, store, self.sweep)
            signals.notice_seconds = self.warning_seconds - EARLY_SECONDS
            stop = _Stop(signals, cancelled)
            well = work(store, self.sweep, device, stop, time_for, patience, died, cores, may_come)
        except OutOfTime as out:
            log.info("The time left is too short for the packs left.")
            well, again = out.well, True
        except StoreFault as fault:
            log.warning("%s The job goes back into the queue.", fault)
            again = True
        except Superseded:
            log.warning("Job %s has been started anew elsewhere; this process of it ends.", job)
            return 1
        if cancelled.now():
            log.info("The sweep was cancelled; this worker ends.")
            return 0
        if not signals() and not again:
            return 0 if well else 1
        if (signals.warned or again) and restart >= self.starts:
            log.error("Job %s has started %d times, as often as max_num_timeout lets it.", job, restart + 1)
            return 1
        return leave(job, restart, lambda: (signals.warned or again) and restart < self.starts, cancelled)

    def _given_up(self, store: Store) -> bool:
        """Notes that its submission has come to a job, if nobody has; True if it was taken for lost meanwhile."""
        array = os.environ.get("SLURM_ARRAY_JOB_ID") or os.environ["SLURM_JOB_ID"]
        count = int(os.environ.get("SLURM_ARRAY_TASK_COUNT") or 1)
        try:
            outcome = decide(store, self.sweep, self.submission, Outcome(array, count))
        except StoreError as error:
            log.warning("%s", error)
            return False
        if outcome.job is None:
            log.info("The command that has submitted this worker was taken for dead, and others work: %s", outcome.why)
        return outcome.job is None

    def _device(self) -> str:
        """The CPU, or the GPU that is this worker's among those of its job.  Raises ConfigError."""
        from launch.plan.device import devices

        there = devices("cuda" if self.gpu else "cpu")
        return there[int(os.environ.get("SLURM_LOCALID") or 0) % len(there)]


def this_job() -> str:
    """The job as Slurm's commands name it: 12, or 12_3 in an array."""
    environment = os.environ
    if "SLURM_ARRAY_JOB_ID" in environment:
        return f"{environment['SLURM_ARRAY_JOB_ID']}_{environment['SLURM_ARRAY_TASK_ID']}"
    return environment["SLURM_JOB_ID"]


def _died_of_memory(store: Store, owner: Owner) -> bool:
    """Whether Slurm ended the job of a lease's owner, which this store has submitted, because memory ran out."""
    from plasticity_lab.records.plan import sweeps_of

    here = this_owner().cluster
    if owner.job_name is None or owner.cluster != here:
        return False
    try:
        known = {sweep: submissions_of(store, sweep, []) for sweep in sweeps_of(store)}
        asked = {sweep: [each for each in several if each.job == owner.job] for sweep, several in known.items()}
        asked = {sweep: several for sweep, several in asked.items() if several}
        found, _ = states_of_sweeps(store, asked, here, cluster.PATIENCE_SECONDS)
    except (cluster.SlurmError, StoreError):
        return False
    states = [states[owner.job_name] for states in found.values() if owner.job_name in states]
    return any(state.state == "OUT_OF_MEMORY" for state in states)


class _Stop:
    """A worker's `stop`: Slurm's signals, or that the sweep is cancelled, where nobody ends the worker."""

    def __init__(self, signals: JobSignals, cancelled: Cancelled) -> None:
        self._signals, self._cancelled = signals, cancelled

    def __call__(self) -> bool:
        return self._signals() or self._cancelled()

    def seconds_left(self) -> float:
        """Until Slurm ends the job."""
        return self._signals.seconds_left()


def _others_wait(store: Store, sweep: str) -> bool:
    """Whether jobs of the sweep are to start, on whatever nodes they get; where Slurm does not say, they may be."""
    try:
        submitted = {sweep: submissions_of(store, sweep, [])}
        return any(each.state.to_start for each in own_jobs(store, submitted)[sweep])
    except (cluster.SlurmError, StoreError):
        return True


def _time_until(job: str, warning_seconds: float) -> Callable[[float], bool]:
    """A function that says whether some seconds will have passed before the job may get the signal that its time is up.

    Slurm may be silent when a worker starts: then the job's environment says it, or Slurm is asked again.
    """
    end, asked = _end_of(job), time.monotonic()

    def enough(seconds: float) -> bool:
        nonlocal end, asked
        if end == math.inf and time.monotonic() - asked > ASK_SECONDS:
            end, asked = _end_of(job), time.monotonic()
        return time.monotonic() + seconds < end - warning_seconds

    return enough


def _end_of(job: str) -> float:
    """When the job's time is up, by this process's monotonic clock; infinite where it has no limit, or nobody knows."""
    left = cluster.seconds_left(job)
    if left is None and (words := os.environ.get("SLURM_JOB_END_TIME", "")).isdecimal():
        left = int(words) - time.time()
    return math.inf if left is None else time.monotonic() + left
