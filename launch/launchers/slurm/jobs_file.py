"""The jobs of a sweep in the store: which were submitted, as what, and whether the sweep was cancelled."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.files import read, write_json
from plasticity_lab.records.settings import Settings, checked
from plasticity_lab.records.store import Store

FORMAT = 1


@dataclass(frozen=True)
class Jobs:
    """jobs: how many workers each job, an array mostly, was submitted with; the latest last.

    launcher: its parameters, and settings: those of the command, with which the same workers can be started again.
    cancelled: whether the sweep is to stay as it is.
    """

    launcher: Mapping[str, Any]
    settings: Settings
    jobs: Mapping[str, int] = field(default_factory=dict)
    cancelled: bool = False

    def with_job(self, job: str, workers: int) -> "Jobs":
        """The same and one more."""
        return replace(self, jobs={**self.jobs, job: workers})


def write_jobs(store: Store, sweep: str, jobs: Jobs) -> None:
    """Puts them beside the sweep's plan.  Raises StoreError."""
    write_json(store.jobs(sweep), {"format": FORMAT, **asdict(jobs), "settings": jobs.settings.model_dump(mode="json")})


def read_jobs(store: Store, sweep: str) -> Jobs | None:
    """The jobs of a sweep; None if it never was on Slurm.  Raises StoreError."""
    content = read(store.jobs(sweep))
    if content is None:
        return None
    try:
        value = json.loads(content)
        if value.pop("format") != FORMAT:
            raise StoreError(f"{store.jobs(sweep)} has another format than this version reads, which is {FORMAT}.")
        return Jobs(**{**value, "settings": checked(Settings, value["settings"])})
    except (ValueError, KeyError, TypeError, AttributeError, ConfigError) as error:
        raise StoreError(
            f"{store.jobs(sweep)} is damaged ({error}); delete it and give the sweep's command again."
        ) from error


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
