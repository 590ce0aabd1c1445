"""The jobs of a sweep in the store: which were submitted, as what, and whether the sweep was cancelled."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping
from plasticity_lab.records.files import write_json
from plasticity_lab.records.settings import Settings, checked
from plasticity_lab.records.store import Store

FORMAT = 1
_FIELDS = {"format": int, "launcher": dict, "settings": dict, "jobs": dict, "cancelled": bool}
_ADVICE = "the sweep's command starts jobs anew, and `squeue` lists those that it was given before"


@dataclass(frozen=True)
class Jobs:
    """jobs: job → how many workers it was submitted with, mostly as an array; the latest last.

    launcher, settings: the launcher's parameters and those of the command, to start the same workers again with.
    cancelled: whether the sweep was cancelled, so that no worker is to go on with it.
    """

    launcher: Mapping[str, Any]
    settings: Settings
    jobs: Mapping[str, int] = field(default_factory=dict)
    cancelled: bool = False

    def with_job(self, job: str, workers: int) -> "Jobs":
        """The same with one more job."""
        return replace(self, jobs={**self.jobs, job: workers})


def write_jobs(store: Store, sweep: str, jobs: Jobs) -> None:
    """Writes them beside the sweep's plan.  Raises StoreError."""
    write_json(store.jobs(sweep), {"format": FORMAT, **asdict(jobs), "settings": jobs.settings.model_dump(mode="json")})


def read_jobs(store: Store, sweep: str) -> Jobs | None:
    """The jobs of a sweep; None if it never was on Slurm.  Raises DamagedFile; StoreError."""
    path = store.jobs(sweep)
    value = read_mapping(path, _ADVICE)
    if value is None:
        return None
    if isinstance(value.get("format"), int) and value["format"] != FORMAT:
        raise StoreError(f"{path} has another format than this version reads, which is {FORMAT}.")
    fault = fault_of_fields(value, _FIELDS)
    if fault is None and not all(isinstance(workers, int) for workers in value["jobs"].values()):
        fault = "does not say how many workers a job has"
    if fault is not None:
        raise DamagedFile(path, fault, _ADVICE)
    try:
        settings = checked(Settings, value["settings"])
    except ConfigError as error:
        raise DamagedFile(path, f"holds settings that cannot be: {str(error).rstrip('.')}", _ADVICE) from error
    return Jobs(value["launcher"], settings, value["jobs"], value["cancelled"])


def logs_folder(store: Store, sweep: str, launcher: Mapping[str, Any]) -> Path:
    """Where scripts and logs of a sweep's jobs lie, unless the launcher's parameters name a place: beside its plan."""
    return Path(launcher["submitit_folder"] or store.sweep_folder(sweep) / "jobs").absolute()


def jobs_there(store: Store, sweep: str) -> Jobs:
    """The jobs of a sweep that was on Slurm.  Raises StoreError if it never was."""
    jobs = read_jobs(store, sweep)
    if jobs is None:
        raise StoreError(
            f"Sweep {sweep} was not given to Slurm, but trained where its command was given: Ctrl-C stops it, and "
            f"the same command, which `python -m launch status {sweep}` tells, goes on."
        )
    return jobs
