"""What the store says of jobs of Slurm's, and what squeue says of the same jobs, without Slurm."""

from collections.abc import Mapping
from typing import Any

from launch.launchers.slurm.own_jobs import mark_of
from launch.launchers.slurm.parameters import PackedSlurmConf
from launch.packs.submissions import Outcome, Submission, ask, decide, submissions_of
from plasticity_lab.records.store import Store
from tests.helpers.stand_ins import row_of_sacct, row_of_squeue
from tests.helpers.stores import SETTINGS

PARAMETERS = {name: getattr(PackedSlurmConf(), name) for name in PackedSlurmConf.__dataclass_fields__}


def given_to_slurm(
    store: Store, sweep: str, jobs: Mapping[str, int], before: int = 0, cluster: str | None = None, **said: Any
) -> list[Submission]:
    """Writes submissions that came to jobs: job → how many workers.  said: launcher's parameters.  Returns them."""
    numbers = []
    for job, count in jobs.items():
        asked = ask(store, sweep, PARAMETERS | said, SETTINGS, before, cluster)
        decide(store, sweep, asked.number, Outcome(job, count))
        numbers.append(asked.number)
    return [each for each in submissions_of(store, sweep, []) if each.number in numbers]


def in_queue(
    store: Store,
    submission: Submission,
    *jobs: str,
    user: str | None = None,
    comment: str | None = None,
    command: str | None = None,
) -> list[str]:
    """Rows of squeue for jobs of a submission, each as in "60_0|RUNNING|None|n1".  comment, command: other than its."""
    comment = mark_of(store, submission.sweep, submission.token) if comment is None else comment
    command = f"{submission.folder}/.submission_file_0.sh" if command is None else command
    rest = (user or submission.user or "ann", comment, command)
    return [row_of_squeue(job.partition("|")[0].partition("_")[0], *job.split("|"), *rest) for job in jobs]


def in_accounting(submission: Submission, *jobs: str, user: str | None = None, line: str | None = None) -> list[str]:
    """Rows of sacct for jobs of a submission, each as in "60_0|TIMEOUT|0:0|n1"; steps have no user.

    line: by which the jobs were submitted, if another than submitit's.
    """
    line = f"sbatch {submission.folder}/.submission_file_0.sh" if line is None else line
    about, of_step = (user or submission.user or "ann", line), ("", "")
    return [row_of_sacct(*job.split("|"), *(of_step if "." in job.partition("|")[0] else about)) for job in jobs]
