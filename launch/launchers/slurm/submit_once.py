"""Submitting workers for a sweep once, whatever happens meanwhile, so that the store knows what came of it.

One command after another submits: two that are given at once do not start twice as many.
"""

import os
import shutil
import time
from collections.abc import Callable, Sequence

from launch.launchers.slurm import cluster
from launch.launchers.slurm.cancellation import cancellations
from launch.launchers.slurm.job_array import submit
from launch.launchers.slurm.own_jobs import OwnJob, by_array, living, mark_of, own_jobs
from launch.launchers.slurm.submissions import (
    Outcome,
    Submission,
    decide,
    read_submission,
    undecided,
)
from launch.packs.owner import is_dead_here
from launch.wording import counted, say, some
from plasticity_lab.errors import PlasticityError, StoreError
from plasticity_lab.process.account import user_name
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.files import disk_errors, server_time
from plasticity_lab.records.store import Store

LOOK_SECONDS = 0.5
LOST_SECONDS = 300.0
"""How long another machine's command may take to submit; after that it is taken for dead."""


class SweepCancelled(PlasticityError):
    """A sweep was cancelled while workers were submitted for it."""


def await_turn(store: Store, mine: Submission) -> None:
    """Waits until it is known what came of the submissions before this one.

    One whose command has died is decided here: by the jobs that Slurm has of it, or as lost. Should a lost one still
    come to a job, its workers see that and end.  Raises SlurmError; StoreError.
    """
    said = False
    while waits_for := undecided(store, mine.sweep, before=mine.number):
        for number in waits_for:
            _decide_if_dead(store, mine.sweep, number)
        if not said and (others := undecided(store, mine.sweep, before=mine.number)):
            say(
                f"Another command submits workers for this sweep, {_who(store, mine.sweep, others[0])}; waiting for it."
            )
            said = True
        elif said:
            time.sleep(LOOK_SECONDS)


def submit_once(store: Store, asked: Submission, work: Callable[[], None], count: int) -> str:
    """Submits an array of workers, and notes that.  Returns its id.

    Raises SlurmError, SweepCancelled: then no worker of it trains, whatever sbatch has come to; StoreError.
    """
    sweep = asked.sweep
    _check_not_cancelled(store, asked)
    mark, starts = mark_of(store, sweep, asked.token), asked.launcher["max_num_timeout"]
    try:
        job = submit(asked.folder, work, count, asked.launcher, mark, starts)
    except cluster.SlurmError:
        job = _queued_all_the_same(store, asked)
        if job is None:
            shutil.rmtree(asked.folder, ignore_errors=True)
            raise
    outcome = decide(store, sweep, asked.number, Outcome(job, count))
    if outcome.job != job:
        _cancel_if_possible(job)
        raise cluster.SlurmError(
            f"Submitting took so long that another command took this one for dead and submitted workers itself; job "
            f"{job} is cancelled."
        )
    _check_not_cancelled(store, asked, job)
    return job


def release_held(sweep: str, jobs: Sequence[OwnJob]) -> None:
    """Lets jobs start that are held.  Raises SlurmError that says how, where this user may not."""
    held = [job for job in jobs if job.state.held]
    mine = [job.name for job in held if job.user == user_name()]
    others = [job for job in held if job.user != user_name()]
    if others:
        raise cluster.SlurmError(
            f"{counted(len(others), 'job')} of sweep {sweep} {_are(others)} held ({others[0].state.reason}), and "
            f"belong to {others[0].user}, who can release them: scontrol release {' '.join(job.name for job in others)}"
        )
    try:
        cluster.release(mine)
    except cluster.SlurmError as error:
        raise cluster.SlurmError(
            f"{counted(len(mine), 'job')} of sweep {sweep} {_are(held)} held ({held[0].state.reason}) and cannot be "
            f"released by you ({some(mine)}): ask who runs the cluster, or give `python -m launch cancel {sweep}` and "
            f"then `resume`, which starts others. {error}"
        ) from error


def _are(jobs: Sequence[OwnJob]) -> str:
    return "is" if len(jobs) == 1 else "are"


def _check_not_cancelled(store: Store, asked: Submission, job: str | None = None) -> None:
    """Raises SweepCancelled if the sweep was cancelled since the command was given.  job: what it has submitted."""
    if cancellations(store, asked.sweep) == asked.cancellations:
        return
    words = f"Sweep {asked.sweep} was cancelled while this command submitted workers for it"
    if job is None:
        raise SweepCancelled(f"{words}; none was submitted.")
    if fault := _cancel_if_possible(job):
        raise SweepCancelled(
            f"{words}; job {job} was submitted, and its workers end by themselves as soon as they start. {fault}"
        )
    raise SweepCancelled(f"{words}; job {job}, which it had just submitted, is cancelled too.")


def _cancel_if_possible(job: str) -> str:
    """Cancels what this command has just submitted; why that could not be done."""
    try:
        cluster.cancel([job])
    except cluster.SlurmError as error:
        return str(error)
    return ""


def _queued_all_the_same(store: Store, asked: Submission) -> str | None:
    """The array that Slurm has of a submission that sbatch has reported as failed: it may just not have heard of it."""
    try:
        return _outcome_in_queue(store, asked, unless="").job
    except cluster.SlurmError:
        return None


def _outcome_in_queue(store: Store, asked: Submission, unless: str) -> Outcome:
    """What came of a submission as the queue shows it.  unless: why there is no job, if there is none.

    Raises SlurmError.
    """
    # Not those that are over: of a job that it refuses Slurm keeps a failed one for some minutes.
    jobs = living(own_jobs(store, {asked.sweep: [asked]})[asked.sweep])
    arrays = by_array(job for job in jobs if job.submission is not None)
    for array, count in arrays.items():
        return Outcome(array, count)
    return Outcome(None, why=unless)


def _decide_if_dead(store: Store, sweep: str, number: int) -> None:
    try:
        other = read_submission(store, sweep, number)
    except DamagedFile as error:
        decide(store, sweep, number, Outcome(None, why=f"it cannot be read: {error}"))
        return
    if is_dead_here(other.owner) or _age(store, sweep, number) > LOST_SECONDS:
        lost = f"the command that submitted, {other.owner}, ended before it was done"
        decide(store, sweep, number, _outcome_in_queue(store, other, unless=lost))


def _age(store: Store, sweep: str, number: int) -> float:
    """Seconds since a submission was asked for, by the file server's clock."""
    path = store.submissions_folder(sweep) / f"{number}.json"
    with disk_errors("read", path):
        return server_time(path.parent) - os.stat(path).st_mtime


def _who(store: Store, sweep: str, number: int) -> str:
    try:
        return str(read_submission(store, sweep, number).owner)
    except StoreError:
        return f"number {number}"
