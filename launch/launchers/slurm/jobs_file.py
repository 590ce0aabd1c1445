"""jobs.json, in which earlier versions kept the jobs of a sweep: it is read, and not written (see `submissions`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping
from plasticity_lab.records.settings import Settings, checked
from plasticity_lab.records.store import Store

FORMAT = 1
_FIELDS = {"format": int, "launcher": dict, "settings": dict, "jobs": dict, "cancelled": bool}
_ADVICE = (
    "leave the file, the sweep's command sets it aside; its jobs, which no other file names, run scripts in the "
    "folder `jobs` beside it, as `squeue --me --format='%i %o'` shows, and `scancel` ends them"
)


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


def read_jobs(store: Store, sweep: str) -> Jobs | None:
    """The jobs of a sweep; None if there is no such file.  Raises DamagedFile; StoreError."""
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
