"""One array of identical jobs, each of them workers of a sweep, through submitit."""

import contextlib
import io
import math
import shlex
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from launch.launchers.slurm import cluster
from launch.launchers.slurm.cluster import SlurmError
from launch.launchers.slurm.parameters import for_submitit, workers_a_job
from plasticity_lab.process.import_path import for_children
from plasticity_lab.records.files import disk_errors, make_folder
from plasticity_lab.records.plan import Pack

PICKLE = "work.pkl"
_NAME = "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}"
"""In a script: its job as Slurm's commands name it, 12, or 12_3 in an array."""
SECONDS_A_WORKER = 60.0
"""A worker takes some ten seconds to start: unless launch.workers says how many, each gets a minute's work."""


def jobs_needed(packs: Sequence[Pack], workers: int | None, parameters: Mapping[str, Any], largest_array: int) -> int:
    """How many jobs the array is to have. They take packs one after another, so that fewer jobs than packs will do.

    workers: as asked for; None: what the packs are worth. No more than there are packs, than array_parallelism, and
    than the cluster allows.
    """
    wanted = workers or math.ceil(sum(pack.seconds for pack in packs) / SECONDS_A_WORKER)
    jobs = math.ceil(min(wanted, len(packs)) / workers_a_job(parameters))
    return max(1, min(jobs, parameters["array_parallelism"], largest_array))


def submit(
    folder: Path, work: Callable[[], None], jobs: int, parameters: Mapping[str, Any], mark: str = "", starts: int = 0
) -> str:
    """Submits an array of jobs, each of which does the work; scripts and logs go to the folder, which is its own.

    mark: what the jobs' comment is to end with. starts: how often one may start anew that its time's signal reaches
    before it can listen.  Returns the array's id.  Raises SlurmError with what sbatch said; StoreError.
    """
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    try:
        return _submitted(folder, work, jobs, parameters, mark, starts)
    except (FailedJobError, FailedSubmissionError) as error:
        raise SlurmError(f"sbatch refused the job: {_sbatch_said(str(error))}") from error


def check_taken(jobs: int, parameters: Mapping[str, Any]) -> None:
    """Asks sbatch whether it would take an array of jobs with these parameters; none is queued.

    Raises SlurmError with sbatch's message.
    """
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    trial = {"test-only": True, "array": f"0-{jobs - 1}%{min(jobs, parameters['array_parallelism'])}"}
    asked = {**parameters, "additional_parameters": {**parameters["additional_parameters"], **trial}}
    try:
        with tempfile.TemporaryDirectory() as folder:
            job = _submitted(Path(folder), print, 1, asked, "", 0)
    except FailedSubmissionError:
        return  # sbatch has accepted the script, and started no job
    except FailedJobError as error:
        raise SlurmError(f"sbatch would refuse the jobs: {_sbatch_said(str(error))}") from error
    cluster.cancel([job])  # by an sbatch that does not heed the option in a script


def _submitted(
    folder: Path, work: Callable[[], None], jobs: int, parameters: Mapping[str, Any], mark: str, starts: int
) -> str:
    """As `submit`, with submitit's errors."""
    import submitit
    from submitit.core.utils import DelayedSubmission

    with disk_errors("write", folder):
        make_folder(folder)
        DelayedSubmission(work).dump(folder / PICKLE)
    extra = dict(parameters["additional_parameters"])
    own = extra.pop("comment", parameters["comment"])  # it would take the mark's place
    wanted = {**parameters, "additional_parameters": extra, "comment": f"{own or ''} {mark}".strip() or None}
    # submitit's own limit on starts is not used: see launch/launchers/slurm/job.py.
    executor = submitit.AutoExecutor(folder=folder, cluster="slurm")
    executor.update_parameters(**for_submitit(wanted, _setup(folder), _teardown(starts)))
    with contextlib.redirect_stderr(io.StringIO()):  # where submitit repeats what sbatch says
        submitted = executor.submit_array([work] * jobs)
    return str(submitted[0].job_id).partition("_")[0]


def _setup(folder: Path) -> list[str]:
    """What a worker needs before Python starts: one thread, options' modules importable, and its work under its name.

    submitit gives the work that name when sbatch has answered; a command that is killed before that would leave jobs
    that find nothing to do.
    """
    own = f"{_NAME}_submitted.pkl"
    return [
        "export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1",
        *(f"export {name}={shlex.quote(value)}" for name, value in for_children().items()),
        "export PYTHONIOENCODING=utf-8:backslashreplace",
        f'(cd {shlex.quote(str(folder))} && {{ [ -e "{own}" ] || ln -s {PICKLE} "{own}"; }}) 2>/dev/null || true',
    ]


def _teardown(starts: int) -> list[str]:
    """What the script does when srun has ended: back into the queue if an announcement of the end ended the worker.

    From the moment that Slurm starts a process until Python can listen to signals, SIGUSR1 and SIGUSR2 end it. srun
    then ends with the signal's number, with 128 more in later versions. The order is given until Slurm ends the script.
    """
    ends = "|".join(str(number + more) for more in (0, 128) for number in (signal.SIGUSR1, signal.SIGUSR2))
    again = f'scontrol requeue "{_NAME}" && sleep 60 || sleep 5'
    may = f'[ "${{SLURM_RESTART_COUNT:-0}}" -lt {starts} ]'
    return ["ended=$?", f"case $ended in {ends}) while {may}; do {again}; done ;; esac", "exit $ended"]


def _sbatch_said(whole: str) -> str:
    """sbatch's own words out of submitit's."""
    marks = ("sbatch: error:", "allocation failure:")
    lines = [line.partition(mark)[2].strip() for line in whole.splitlines() for mark in marks if mark in line]
    return " ".join(dict.fromkeys(lines)) or " ".join(whole.split())
