"""What the store says of jobs of Slurm's, and what squeue says of the same jobs, without Slurm."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from launch.launchers.slurm.jobs_file import FORMAT
from launch.launchers.slurm.parameters import PackedSlurmConf
from launch.launchers.slurm.submitted import Outcome, Submission, ask, decide, mark_of, submissions_of
from plasticity_lab.records.store import Store
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


def given_by_earlier_version(store: Store, sweep: str, jobs: Mapping[str, int], cancelled: bool = False) -> None:
    """Writes jobs.json as versions before `submissions/` did."""
    settings = SETTINGS.model_dump(mode="json")
    content = {"format": FORMAT, "launcher": PARAMETERS, "settings": settings, "jobs": jobs, "cancelled": cancelled}
    store.jobs(sweep).parent.mkdir(parents=True, exist_ok=True)
    store.jobs(sweep).write_text(json.dumps(content))


def in_queue(store: Store, submission: Submission, *jobs: str, user: str | None = None, about: str = "") -> list[str]:
    """Lines of squeue for jobs of a submission, each as in "60_0|RUNNING|None|n1".  about: other than it says."""
    comment = mark_of(store, submission.sweep, submission.token)
    about = about or f"{comment} {submission.folder}/.submission_file_0.sh"
    now = datetime.now().isoformat(timespec="seconds")
    rows = [job.partition("|") for job in jobs]
    return [f"{name.partition('_')[0]}|{name}|{rest}|{user or submission.user}|{now}|{about}" for name, _, rest in rows]


def in_accounting(submission: Submission, *jobs: str, user: str | None = None) -> list[str]:
    """Lines of sacct for jobs of a submission, each as in "60_0|TIMEOUT|0:0|n1"; steps have no user."""
    now = datetime.now().isoformat(timespec="seconds")
    return [f"{job}|{'' if '.' in job.partition('|')[0] else user or submission.user}|{now}" for job in jobs]
