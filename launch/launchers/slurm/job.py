"""What a Slurm job of a sweep runs: a worker, and its answers to Slurm's signals.

Slurm can take a job's machine away for four reasons, and a worker must leave each time so that the right thing happens:

- its time is nearly up, or it is to make room on a cluster that announces it (SIGUSR2, SIGUSR1): write a checkpoint and
  ask Slurm to put the job back into the queue;
- it is preempted, or cancelled (SIGTERM, and nobody says which): write a checkpoint and wait to be killed. Slurm puts
  what it preempted back into the queue by itself; a job that ended within its grace time would count as finished, and
  one that put itself back could not be cancelled;
- its node is lost: nobody says anything. Slurm starts the job again elsewhere, which goes on from the last checkpoint.
  If the worker is still alive on the lost node, it finds its lease taken and ends.

submitit answers the same signals, but only logs SIGTERM and counts preemptions of short jobs as time limits reached.
"""

import logging
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from launch.launchers.slurm import cluster
from launch.launchers.slurm.jobs_file import read_jobs
from plasticity_lab.errors import ConfigError, PlasticityError, StoreError
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.store import Store

log = logging.getLogger("launch.launchers.slurm.job")
LONGEST_GRACE_SECONDS = 3600.0
"""A worker that was told to end, and not killed within this time, was not told by Slurm: it ends by itself."""
PATIENCE_IN_LEASES = 2
"""When others have held all packs that are left for this many leases, they are alive: this worker ends."""


class JobSignals:
    """Which signals a job was sent.  warned: SIGUSR2 or SIGUSR1, its time is nearly up. ending: SIGTERM."""

    def __init__(self) -> None:
        self.warned = self.ending = False
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, self._receive)
        signal.signal(signal.SIGCONT, signal.SIG_DFL)  # comes along with SIGTERM

    def __call__(self) -> bool:
        """True once it is time to checkpoint and to claim nothing more."""
        return self.warned or self.ending

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            self.ending = True
        else:
            self.warned = True


@dataclass(frozen=True)
class JobWorker:
    """A worker of a sweep in a job of Slurm's.  Calling it ends the process, with status 1 if something failed.

    gpu: whether it trains on the GPU that Slurm gives it. kind: of device that the plan is for. warning_seconds: how
    long before its time limit a job may be told. starts: how often it may start anew.
    """

    store: str
    sweep: str
    gpu: bool
    kind: str
    warning_seconds: float
    starts: int

    def __call__(self) -> None:
        """Works until nothing is left, or Slurm says otherwise."""
        signals = JobSignals()  # before torch is imported, which takes seconds
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
        from plasticity_lab.records.plan import read_plan

        store, job, restart = Store(self.store), this_job(), int(os.environ.get("SLURM_RESTART_COUNT") or 0)
        log.info("Worker of sweep %s in job %s on %s, start %d", self.sweep, job, os.uname().nodename, restart + 1)
        if not store.plan(self.sweep).exists():
            raise StoreError(
                f"This node does not see sweep {self.sweep} in {store.root}, where it was planned: the store must lie "
                "on a file system that all nodes share; `python -m launch doctor` looks whether one does."
            )
        if self._cancelled(store):
            log.info("The sweep was cancelled.")
            return 0
        prepare_process()
        device = self._device()
        if kind_of(device) != self.kind:
            raise ConfigError(
                f"The packs are planned for {self.kind}, and job {job} was given a {kind_of(device)}; "
                "hydra.launcher.constraint or gres asks for one kind of node, device_kind says which to plan for."
            )
        patience = PATIENCE_IN_LEASES * read_plan(store, self.sweep).settings.launch.lease_seconds
        well, again = True, False
        try:
            well = work(store, self.sweep, device, signals, _time_until(job, self.warning_seconds), patience)
        except OutOfTime as out:
            log.info("The time left is too short for the packs left.")
            well, again = out.well, True
        except Superseded:
            log.warning("Job %s has been started anew elsewhere; this process of it ends.", job)
            return 1
        if not signals() and not again:
            return 0 if well else 1
        if (signals.warned or again) and not self._cancelled(store):
            if restart >= self.starts:
                log.error("Job %s has started %d times, as often as max_num_timeout lets it.", job, restart + 1)
                return 1
            log.info("Back into the queue.")
            try:
                cluster.requeue(job)
            except cluster.SlurmError as error:
                # scontrol, too, is ended with the job that it has put back, or that another worker of it has.
                if not signals.ending:
                    log.warning("%s", error)
        return _wait_to_be_killed()

    def _cancelled(self, store: Store) -> bool:
        try:
            jobs = read_jobs(store, self.sweep)
        except DamagedFile as error:
            log.warning("%s", error)
            return False
        return jobs is not None and jobs.cancelled

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


def _time_until(job: str, warning_seconds: float) -> Callable[[float], bool]:
    """A function that says whether some seconds will have passed before the job may be told that its time is up."""
    left = cluster.seconds_left(job)
    end = math.inf if left is None else time.monotonic() + left - warning_seconds
    return lambda seconds: time.monotonic() + seconds < end


def _wait_to_be_killed() -> int:
    log.info("The checkpoint is written; waiting for Slurm to end the job.")
    logging.shutdown()
    time.sleep(LONGEST_GRACE_SECONDS)
    return 1
