"""Submits an array of workers for a sweep once, through submitit. The store holds the outcome of each attempt.

Commands submit one after another, so that two commands at the same time do not start twice the workers.
"""

import contextlib
import io
import math
import os
import re
import shlex
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from launch.launchers.slurm import cluster
from launch.launchers.slurm.cluster import SlurmError
from launch.launchers.slurm.own_jobs import OwnJob, by_array, living, mark_of, own_jobs
from launch.launchers.slurm.parameters import for_submitit, workers_a_job
from launch.packs.owner import is_dead_here
from launch.packs.submissions import Outcome, Submission, cancellations, decide, read_submission, undecided
from launch.runs.files import table_in
from launch.wording import counted, say, some
from plasticity_lab.errors import PlasticityError
from plasticity_lab.process.account import user_name
from plasticity_lab.process.import_path import for_children
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.files import disk_errors, make_folder, server_time
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.store import Store

LOOK_SECONDS = 0.5
LOST_SECONDS = 300.0
"""The time that a command on another machine may take to submit; after that it counts as dead."""
PICKLE = "work.pkl"
_NAME = "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}"
"""The name of a script's job in Slurm's commands, 12, or 12_3 in an array; for use in the script."""
SECONDS_A_WORKER = 60.0
"""Without launch.workers, each worker gets at least about a minute of work, since its start takes some ten seconds."""


class SweepCancelled(PlasticityError):
    """A sweep was cancelled during the submission of its workers."""


def await_turn(store: Store, mine: Submission) -> None:
    """Waits until the outcomes of all submissions before this one are known.

    If a command has died, this function decides its outcome: its jobs in Slurm's queue, or lost. If sbatch still
    creates a job later, the job's workers read that outcome and end.  Raises SlurmError; StoreError.
    """
    said = False
    while others := [owner for number in undecided(store, mine) if (owner := _living_owner(store, mine.sweep, number))]:
        if not said:
            say(f"Another command submits workers for this sweep, {others[0]}; waiting for it.")
        said = True
        time.sleep(LOOK_SECONDS)


def _living_owner(store: Store, sweep: str, number: int) -> str:
    """The command that makes a submission. If it has died, returns an empty text, and decides the outcome."""
    path = store.submissions_folder(sweep) / f"{number}.json"
    try:
        other = read_submission(store, sweep, number)
    except DamagedFile as error:
        decide(store, sweep, number, Outcome(None, why=f"it cannot be read: {error}"))
        return ""
    with disk_errors("read", path):
        age = server_time(path.parent) - os.stat(path).st_mtime
    if not is_dead_here(other.owner) and age <= LOST_SECONDS:
        return str(other.owner)
    lost = f"the command that submitted, {other.owner}, ended before it was done"
    decide(store, sweep, number, _outcome_in_queue(store, other) or Outcome(None, why=lost))
    return ""


def _outcome_in_queue(store: Store, asked: Submission) -> Outcome | None:
    """The outcome of a submission, from its jobs in the queue; None without jobs.  Raises SlurmError."""
    # Only living jobs count: Slurm keeps a refused job as failed for some minutes.
    jobs = living(own_jobs(store, {asked.sweep: [asked]})[asked.sweep])
    arrays = by_array(job for job in jobs if job.submission is not None)
    return next((Outcome(array, count) for array, count in arrays.items()), None)


def submit_once(store: Store, asked: Submission, work: Callable[[], None], count: int) -> str:
    """Submits an array of workers, and writes the outcome.  Returns the array's id.

    Raises SlurmError or SweepCancelled: then none of its workers trains, even if sbatch has queued them; StoreError.
    """
    sweep = asked.sweep
    _check_not_cancelled(store, asked)
    mark, starts = mark_of(store, sweep, asked.token), asked.launcher["max_num_timeout"]
    try:
        job = submit(asked.folder, work, count, asked.launcher, mark, starts)
    except SlurmError:
        # sbatch may report a failure although Slurm has accepted the job and only the answer was lost.
        queued = None
        with contextlib.suppress(SlurmError):
            queued = _outcome_in_queue(store, asked)
        if queued is None or queued.job is None:
            shutil.rmtree(asked.folder, ignore_errors=True)
            raise
        job = queued.job
    outcome = decide(store, sweep, asked.number, Outcome(job, count))
    if outcome.job != job:
        with contextlib.suppress(SlurmError):
            cluster.cancel([job])
        raise SlurmError(
            f"Submitting took too long: another command counted this one as dead and submitted workers itself; job "
            f"{job} is cancelled."
        )
    _check_not_cancelled(store, asked, job)
    return job


def _check_not_cancelled(store: Store, asked: Submission, job: str | None = None) -> None:
    """Raises SweepCancelled if the sweep was cancelled since the command began.  job: the submitted job, if any."""
    if cancellations(store, asked.sweep) == asked.cancellations:
        return
    words = f"Sweep {asked.sweep} was cancelled while this command submitted workers for it"
    if job is None:
        raise SweepCancelled(f"{words}; none was submitted.")
    try:
        cluster.cancel([job])
    except SlurmError as error:
        raise SweepCancelled(
            f"{words}; job {job} was submitted, and its workers end by themselves as soon as they start. {error}"
        ) from error
    raise SweepCancelled(f"{words}; job {job}, which it had just submitted, is cancelled too.")


def release_held(sweep: str, jobs: Sequence[OwnJob]) -> None:
    """Lets held jobs start.  Raises SlurmError that names a way out if this user may not release them."""
    held = [job for job in jobs if job.state.held]
    others = [job for job in held if job.user != user_name()]
    names = [job.name for job in others or held]
    are = f"{counted(len(names), 'job')} of sweep {sweep} {'is' if len(names) == 1 else 'are'} held"
    if others:
        reason, user = others[0].state.reason, others[0].user
        release = f"scontrol release {' '.join(names)}"
        raise SlurmError(f"{are} ({reason}), and belong to {user}, who can release them: {release}")
    if not held:
        return
    try:
        cluster.ask("scontrol", "release", *sorted(names))
    except SlurmError as error:
        raise SlurmError(
            f"{are} ({held[0].state.reason}) and cannot be released by you ({some(names)}): ask who runs the cluster, "
            f"or give `python -m launch cancel {sweep}` and then `resume`, which starts others. {error}"
        ) from error


def jobs_needed(packs: Sequence[Pack], workers: int | None, parameters: Mapping[str, Any], largest_array: int) -> int:
    """The number of jobs in the array. Jobs take one pack after another, so fewer jobs than packs suffice.

    workers: the setting `launch.workers`; None: one worker for each SECONDS_A_WORKER of the packs' time. The number of
    packs, array_parallelism and the cluster limit the number of jobs.
    """
    wanted = workers or math.ceil(sum(pack.seconds for pack in packs) / SECONDS_A_WORKER)
    jobs = math.ceil(min(wanted, len(packs)) / workers_a_job(parameters))
    return max(1, min(jobs, parameters["array_parallelism"], largest_array))


def submit(
    folder: Path, work: Callable[[], None], jobs: int, parameters: Mapping[str, Any], mark: str = "", starts: int = 0
) -> str:
    """Submits an array of jobs that each run `work`.  Returns the array's id.

    folder: the folder for scripts and logs of this array only. mark: the end of the jobs' comment. starts: the largest
    number of requeues if the signal of the time limit comes before the worker can receive it.
    Raises SlurmError with sbatch's message; StoreError.
    """
    import submitit
    from submitit.core.utils import DelayedSubmission, FailedJobError, FailedSubmissionError

    with disk_errors("write", folder):
        make_folder(folder)
        DelayedSubmission(work).dump(folder / PICKLE)
    extra = dict(parameters["additional_parameters"])
    own = extra.pop("comment", parameters["comment"])  # submitit would overwrite the mark with it
    wanted = {**parameters, "additional_parameters": extra, "comment": f"{own or ''} {mark}".strip() or None}
    # submitit's own limit on starts is not used: see launch/launchers/slurm/job.py.
    executor = submitit.AutoExecutor(folder=folder, cluster="slurm")
    executor.update_parameters(**for_submitit(wanted, _setup(folder), _teardown(starts)))
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # submitit repeats sbatch's message there
            submitted = executor.submit_array([work] * jobs)
    except (FailedJobError, FailedSubmissionError) as error:
        raise SlurmError(f"sbatch refused the job: {_message_of_sbatch(str(error))}") from error
    return str(submitted[0].job_id).partition("_")[0]


def way_out(fault: str, words: str) -> str:
    """The way out of a fault of jobs; empty if none is known.  fault: a key of ways_out.yaml. words: tell the fault."""
    ways_out = table_in("launchers/slurm/ways_out.yaml")[fault]
    return next((way for pattern, way in ways_out.items() if re.search(pattern, words)), "")


def check_taken(jobs: int, parameters: Mapping[str, Any]) -> None:
    """Asks sbatch whether it would accept an array of jobs with these parameters. No job is queued.

    Raises SlurmError with sbatch's message.
    """
    from submitit.core.utils import FailedSubmissionError

    trial = {"test-only": True, "array": f"0-{jobs - 1}%{min(jobs, parameters['array_parallelism'])}"}
    asked = {**parameters, "additional_parameters": {**parameters["additional_parameters"], **trial}}
    try:
        with tempfile.TemporaryDirectory() as folder:
            job = submit(Path(folder), print, 1, asked)
    except SlurmError as error:
        if isinstance(error.__cause__, FailedSubmissionError):
            return  # sbatch has accepted the script and started no job, so submitit found no job id
        raise
    cluster.cancel([job])  # some versions of sbatch ignore the option in a script


def _setup(folder: Path) -> list[str]:
    """The lines of the script before Python starts.

    They set one thread, make the modules of users' options importable, and link the work to the file name that the job
    reads. submitit gives the work that name only after sbatch has answered. If the command were killed before that, its
    jobs would find no work.
    """
    own = f"{_NAME}_submitted.pkl"
    return [
        "export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1",
        *(f"export {name}={shlex.quote(value)}" for name, value in for_children().items()),
        "export PYTHONIOENCODING=utf-8:backslashreplace",
        f'(cd {shlex.quote(str(folder))} && {{ [ -e "{own}" ] || ln -s {PICKLE} "{own}"; }}) 2>/dev/null || true',
    ]


def _teardown(starts: int) -> list[str]:
    """The lines of the script after srun: a requeue if the signal of the time limit ended the worker.

    SIGUSR1 and SIGUSR2 end a process until Python can receive signals. srun then ends with the signal's number, in
    later versions plus 128. The order is repeated until Slurm ends the script.
    """
    ends = "|".join(str(number + more) for more in (0, 128) for number in (signal.SIGUSR1, signal.SIGUSR2))
    again = f'scontrol requeue "{_NAME}" && sleep 60 || sleep 5'
    may = f'[ "${{SLURM_RESTART_COUNT:-0}}" -lt {starts} ]'
    return ["ended=$?", f"case $ended in {ends}) while {may}; do {again}; done ;; esac", "exit $ended"]


def _message_of_sbatch(whole: str) -> str:
    """The message of sbatch in an error of submitit."""
    marks = ("sbatch: error:", "allocation failure:")
    lines = [line.partition(mark)[2].strip() for line in whole.splitlines() for mark in marks if mark in line]
    return " ".join(dict.fromkeys(lines)) or " ".join(whole.split())
