"""Submitting the workers of a sweep: one array of identical jobs, through submitit."""

import contextlib
import io
import math
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from launch.launchers.slurm.cluster import SlurmError
from launch.launchers.slurm.parameters import for_submitit, workers_a_job
from plasticity_lab.records.files import disk_errors
from plasticity_lab.records.plan import Pack

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


def submit(folder: Path, work: Callable[[], None], jobs: int, parameters: Mapping[str, Any]) -> str:
    """Submits an array of jobs, each of which does the work; scripts and logs go to the folder.

    Returns its id.  Raises SlurmError with what sbatch said; StoreError.
    """
    import submitit
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    with disk_errors("write", folder):
        folder.mkdir(parents=True, exist_ok=True)
        before = set(os.listdir(folder))
    try:
        # submitit's own limit on starts is not used: see launch/launchers/slurm/job.py.
        executor = submitit.AutoExecutor(folder=folder, cluster="slurm")
        executor.update_parameters(**for_submitit(parameters, _setup()))
        with contextlib.redirect_stderr(io.StringIO()):  # where submitit repeats what sbatch says
            submitted = executor.submit_array([work] * jobs)
    except (FailedJobError, FailedSubmissionError) as error:
        _clear(folder, before)
        raise SlurmError(f"sbatch refused the job: {_sbatch_said(str(error))}") from error
    return str(submitted[0].job_id).partition("_")[0]


def _setup() -> list[str]:
    """What a worker's environment needs before Python starts: one thread, and options' modules importable."""
    paths = os.pathsep.join(path for path in sys.path if path)
    return ["export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1", f"export PYTHONPATH={shlex.quote(paths)}"]


def _sbatch_said(whole: str) -> str:
    """sbatch's own words out of submitit's."""
    lines = [line.partition("error:")[2].strip() for line in whole.splitlines() if "sbatch: error:" in line]
    return " ".join(dict.fromkeys(lines)) or " ".join(whole.split())


def _clear(folder: Path, before: set[str]) -> None:
    """Removes what submitit had written when sbatch refused."""
    for name in set(os.listdir(folder)) - before:
        (folder / name).unlink(missing_ok=True)
