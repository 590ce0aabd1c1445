"""Submitting the workers of one submission so that the store knows what came of it, whatever happens meanwhile."""

import shutil
from collections.abc import Callable, Sequence

from launch.launchers.slurm import cluster
from launch.launchers.slurm.cancellation import cancellations
from launch.launchers.slurm.mark import mark_of
from launch.launchers.slurm.own_jobs import OwnJob
from launch.launchers.slurm.submission import submit
from launch.launchers.slurm.submitted import Outcome, Submission, decide, this_user
from launch.launchers.slurm.turns import outcome_in_queue
from launch.wording import counted, some
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.store import Store


class SweepCancelled(PlasticityError):
    """A sweep was cancelled while workers were submitted for it."""


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
    mine = [job.name for job in held if job.user == this_user()]
    others = [job for job in held if job.user != this_user()]
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
        return outcome_in_queue(store, asked, unless="").job
    except cluster.SlurmError:
        return None
