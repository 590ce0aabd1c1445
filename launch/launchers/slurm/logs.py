"""What the workers of a sweep have said: the files into which Slurm writes it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from submitit.core.utils import JobPaths

from launch.launchers.slurm.parameters import workers_a_job
from launch.launchers.slurm.submissions import Submission
from plasticity_lab.records.files import read


@dataclass(frozen=True)
class WorkerLog:
    """One file of a worker. job: its job, 12, or 12_3 in an array. changed: when it last spoke, seconds; 0: not yet."""

    job: str
    path: Path
    changed: float

    def last_lines(self, count: int) -> list[str]:
        """The end of it, of all starts of the job.  Raises StoreError."""
        return (read(self.path) or b"").decode(errors="replace").splitlines()[-count:]


def logs_of(submissions: Iterable[Submission]) -> list[WorkerLog]:
    """The files of all workers that were ever submitted for a sweep, whether they are there yet or not."""
    found = list[WorkerLog]()
    for each in submissions:
        if each.outcome is None or each.outcome.job is None:
            continue
        job, count = each.outcome.job, each.outcome.jobs
        for name in [job] if count == 1 else [f"{job}_{task}" for task in range(count)]:
            for rank in range(workers_a_job(each.launcher)):
                paths = JobPaths(each.folder, name, rank)
                apart = [] if each.launcher["stderr_to_stdout"] else [paths.stderr]
                found += [WorkerLog(name, path, _changed(path)) for path in [paths.stdout, *apart]]
    return found


def _changed(path: Path) -> float:
    try:
        about = path.stat()
    except FileNotFoundError:
        return 0.0
    return about.st_mtime if about.st_size else 0.0
