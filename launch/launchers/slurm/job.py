"""The worker in a Slurm job of a sweep, and its answers to Slurm's signals.

A worker handles each reason to leave differently:

- Its time is nearly up, or the cluster announces a preemption (SIGUSR2, SIGUSR1): it writes a checkpoint and asks Slurm
  to put the job back into the queue, until Slurm has done so (see `leave`).
- It is preempted or cancelled (SIGTERM for both): it writes a checkpoint and waits to be killed. Slurm puts preempted
  jobs back into the queue without a request. A job that ended within its grace time would count as finished, and a job
  that put itself back could not be cancelled.
- The sweep is cancelled (by a file in the store): it writes a checkpoint and ends.
- Its node is lost, without any signal: Slurm starts the job again on another node, and the job goes on from the last
  checkpoint. If the worker is still alive on the lost node, it finds its lease taken and ends.

submitit handles the same signals. But it only logs SIGTERM, and counts preemptions of short jobs as timeouts.
"""

import logging
import math
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from launch.launchers.slurm import cluster
from launch.launchers.slurm.own_jobs import own_jobs, states_of_sweeps
from launch.launchers.slurm.signals import EARLY_SECONDS, JobSignals
from launch.packs.owner import Owner, this_owner
from launch.packs.submissions import Cancelled, Outcome, decide, submissions_of
from launch.plan.device import devices, kind_of
from launch.wording import in_time
from launch.work.process import prepare_process
from launch.work.worker import OutOfTime, Superseded, Worker
from plasticity_lab.errors import ConfigError, PlasticityError, StoreError
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.kinds import device_name, sort_of
from plasticity_lab.records.plan import read_plan, sweeps_of
from plasticity_lab.records.store import Store

log = logging.getLogger("launch.launchers.slurm.job")
ASK_SECONDS = 600.0
"""If Slurm did not give a job's time limit, it is asked again after this time."""
PATIENCE_IN_LEASES = 2
"""A worker ends if others have held all packs that are left for this number of lease times: the others are alive."""
LONGEST_GRACE_SECONDS = 3600.0
"""After this time a worker ends by itself, if Slurm answers but neither ends nor requeues its job."""
GRACE_LOOK_SECONDS = 60.0
"""The time between queries whether Slurm is ending the job; longer than Slurm's usual time to kill (KillWait)."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 10.0
"""Pauses between two orders. They are short: a controller that restarts soon ends jobs past their time limit."""
_SHARE = 1 - os.getpid() % 50 / 100
"""The factor of this process on each pause, so that workers do not all ask a restarted controller at once."""
LOOK_SECONDS = 1.0
"""The time until a waiting worker notices a signal, or the cancellation of its sweep."""


@dataclass(frozen=True)
class JobWorker:
    """A worker of a sweep in a Slurm job.  Calling it ends the process, with status 1 if something failed.

    gpu: whether the worker trains on the GPU that Slurm gives it.
    kind: the kind of device in the plan.
    warning_seconds: the longest time from the signal of the time limit to the limit.
    starts: the largest number of times that the job may be requeued.
    submission: the number of its submission.
    cancellations: the number of times that the sweep had been cancelled before the submission.
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
        """Works until nothing is left, or Slurm or `cancel` ends it.  signals: the job's signals; None: listens now."""
        signals = signals or JobSignals()
        logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S")
        logging.getLogger("launch").setLevel(logging.INFO)
        try:
            status = self._work(signals)
        except PlasticityError as error:
            log.error("%s", error)
            status = 1
        # Exits without a result for submitit: that would write another file, which no process reads.
        sys.stdout.flush()
        sys.exit(status)

    def _work(self, signals: JobSignals) -> int:
        store, me = Store(self.store), this_owner()
        job, restart = str(me.job_name), me.restart
        log.info("Worker of sweep %s in job %s on %s, start %d", self.sweep, job, os.uname().nodename, restart + 1)
        if not store.plan(self.sweep).exists():
            raise StoreError(
                f"This node does not see sweep {self.sweep} in {store.root}: the store must be on a file system that "
                "all nodes share; `python -m launch doctor` checks that."
            )
        cancelled = signals.cancelled = Cancelled(store, self.sweep, self.cancellations)
        if cancelled():
            log.info("The sweep was cancelled.")
            return 0
        if self._given_up(store):
            return 0
        again = False
        try:
            well = self._train(store, job, signals)
        except OutOfTime as out:
            log.info("The time left is too short for the packs left.")
            well, again = out.well, True
        except StoreFault as fault:
            log.warning("%s The job goes back into the queue.", fault)
            well, again = True, True
        except Superseded:
            log.warning("Job %s has been restarted elsewhere; this process of it ends.", job)
            return 1
        if cancelled.now():
            log.info("The sweep was cancelled; this worker ends.")
            return 0
        if not signals() and not again:
            return 0 if well else 1
        if (signals.warned or again) and restart >= self.starts:
            log.error("Job %s has started %d times, as often as max_num_timeout allows.", job, restart + 1)
            return 1
        return leave(job, restart, lambda: (signals.warned or again) and restart < self.starts, cancelled)

    def _train(self, store: Store, job: str, signals: JobSignals) -> bool:
        """Trains packs.  Returns whether none failed.  Raises the errors of `work`."""
        prepare_process()
        there = devices("cuda" if self.gpu else "cpu")
        device = there[int(os.environ.get("SLURM_LOCALID") or 0) % len(there)]  # this worker's GPU in the job
        kind = kind_of(device)
        if sort_of(kind) != sort_of(self.kind):
            raise ConfigError(
                f"The packs are planned for {self.kind}, and job {job} was given a {device_name(kind)}; "
                "hydra.launcher.constraint or gres asks for one kind of node, device_kind says which to plan for."
            )
        signals.notice_seconds = self.warning_seconds - EARLY_SECONDS
        return Worker(
            store,
            self.sweep,
            device,
            signals,
            time_for=_time_until(job, self.warning_seconds),
            patience=PATIENCE_IN_LEASES * read_plan(store, self.sweep).settings.launch.lease_seconds,
            died_of_memory=partial(_died_of_memory, store),
            cores=int(os.environ.get("SLURM_CPUS_PER_TASK") or 1),
            sharing=_sharing(len(there)),
            may_come=partial(_others_wait, store, self.sweep),
        ).work()

    def _given_up(self, store: Store) -> bool:
        """Writes the job as its submission's outcome, unless it has one.  True if the submission counts as lost."""
        count = int(os.environ.get("SLURM_ARRAY_TASK_COUNT") or 1)
        try:
            outcome = decide(store, self.sweep, self.submission, Outcome(this_owner().job, count))
        except StoreError as error:
            log.warning("%s", error)
            return False
        if outcome.job is None:
            log.info("The command that submitted this worker counts as dead, and other workers work: %s", outcome.why)
        return outcome.job is None


def _sharing(gpus: int) -> int:
    """The number of this job's workers on each of the GPUs that it sees here."""
    if os.environ.get("SLURM_GPUS_PER_TASK"):
        return 1
    return -(-int(os.environ.get("SLURM_NTASKS_PER_NODE") or 1) // gpus)


def _died_of_memory(store: Store, owner: Owner) -> bool:
    """Whether Slurm ended the job of a lease's owner because memory ran out. False if this store did not submit it."""
    here = this_owner().cluster
    if owner.job_name is None or owner.cluster != here:
        return False
    try:
        of_sweeps = {sweep: submissions_of(store, sweep, []) for sweep in sweeps_of(store)}
        of_job = {sweep: [asked for asked in several if asked.job == owner.job] for sweep, several in of_sweeps.items()}
        submitted = {sweep: several for sweep, several in of_job.items() if several}
        by_sweep, _ = states_of_sweeps(store, submitted, here, cluster.PATIENCE_SECONDS)
    except (cluster.SlurmError, StoreError):
        return False
    states = [states[owner.job_name] for states in by_sweep.values() if owner.job_name in states]
    return any(state.state == "OUT_OF_MEMORY" for state in states)


def _others_wait(store: Store, sweep: str) -> bool:
    """Whether any jobs of the sweep are still to start; True if Slurm does not answer."""
    try:
        submitted = {sweep: submissions_of(store, sweep, [])}
        return any(job.state.to_start for job in own_jobs(store, submitted)[sweep])
    except (cluster.SlurmError, StoreError):
        return True


def _time_until(job: str, warning_seconds: float) -> Callable[[float], bool]:
    """A function that returns whether the job has n seconds left before the signal of its time limit may come.

    If Slurm does not answer when a worker starts, the limit comes from the job's environment variables, or from a later
    query.
    """
    end, asked = _end_of(job), time.monotonic()

    def enough(seconds: float) -> bool:
        nonlocal end, asked
        if end == math.inf and time.monotonic() - asked > ASK_SECONDS:
            end, asked = _end_of(job), time.monotonic()
        return time.monotonic() + seconds < end - warning_seconds

    return enough


def _end_of(job: str) -> float:
    """The job's time limit on this process's monotonic clock; infinite without a known limit."""
    left = cluster.seconds_left(job)
    if left is None and (words := os.environ.get("SLURM_JOB_END_TIME", "")).isdecimal():
        left = int(words) - time.time()
    return math.inf if left is None else time.monotonic() + left


def leave(job: str, restart: int, back: Callable[[], bool], cancelled: Callable[[], bool]) -> int:
    """Waits until Slurm ends this process, and orders a requeue if `back`.  Returns an exit status if Slurm does not.

    Slurm's controller may be away, refuse the order, or be killed and forget it. The command that gives the order may
    be killed too. So the order is repeated until Slurm has accepted it or ends the job. A cancelled job is not
    requeued: while its processes end, Slurm would accept the order and start the job again.

    restart: the number of requeues of the job before this process began. back: whether the job must go back into the
    queue; Slurm brings a preempted job back without an order. cancelled: whether the sweep is cancelled.
    """
    waits, pause, said = 0.0 if back() else GRACE_LOOK_SECONDS, FIRST_PAUSE_SECONDS, ""
    log.info("Back into the queue." if back() else "The checkpoint is written; waiting for Slurm to end the job.")
    end = time.monotonic() + LONGEST_GRACE_SECONDS
    while time.monotonic() < end:
        if _cancelled_within(waits, back, cancelled):
            log.info("The sweep was cancelled; this worker ends.")
            return 0
        waits, answer = GRACE_LOOK_SECONDS, ""
        try:
            answer = cluster.ask("scontrol", "show", "job", job)
            restarts, runs = re.search(r"\bRestarts=(\d+)", answer), "JobState=RUNNING" in answer
            if restarts and int(restarts[1]) > restart:
                log.info("Job %s is in the queue again, or runs elsewhere; this process of it ends.", job)
                return 1
            if back() and (runs or "Reason=TimeLimit" in answer):
                cluster.ask("scontrol", "requeue", job)  # Slurm ends its processes
            elif runs and not re.search(r"\bPreemptTime=\d", answer):  # a preempted job has its grace time
                log.warning("Slurm lets the job go on: another user asked it to end, and it ends by itself.")
                return 1
        except cluster.SlurmError as error:
            if not back():
                continue
            if str(error) != said:
                said = str(error)
                log.warning("%s; the job asks again until Slurm takes it back, or ends it.", said.rstrip("."))
            waits, pause = pause * _SHARE, min(2 * pause, LONGEST_PAUSE_SECONDS)
            if not answer:
                end = time.monotonic() + LONGEST_GRACE_SECONDS
    log.error("Slurm has neither ended job %s nor taken it back for %s.", job, in_time(LONGEST_GRACE_SECONDS))
    return 1


def _cancelled_within(seconds: float, back: Callable[[], bool], cancelled: Callable[[], bool]) -> bool:
    """Waits for `seconds`, or until `back` changes or the sweep is cancelled.  Returns whether it is cancelled."""
    end, before = time.monotonic() + seconds, back()
    while not cancelled() and back() == before and (left := end - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_SECONDS))
    return cancelled()
