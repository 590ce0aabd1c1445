"""Questions to Slurm, and the orders it is given besides sbatch, each by one of its own commands."""

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Collection, Sequence

from plasticity_lab.errors import ConfigError, PlasticityError

COMMANDS = ("sbatch", "srun", "squeue", "sinfo", "scontrol", "scancel")
"""Those that are needed to submit, watch and cancel a sweep; sacct is not."""
PATIENCE_SECONDS = 60.0
"""Controllers of large clusters are slow at times."""
_LIMIT = re.compile(r"(?:(?:(?P<days>\d+)-)?(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+)")


class SlurmError(PlasticityError):
    """Slurm refused what it was asked, or did not answer."""


def check_there() -> None:
    """Raises ConfigError where jobs cannot be submitted from."""
    missing = [name for name in COMMANDS if shutil.which(name) is None]
    if missing:
        raise ConfigError(
            f"hydra/launcher=packed_slurm needs {', '.join(missing)}, not to be found on this machine; give the "
            "command on a login node of a Slurm cluster. `make slurm-up` starts one to try it on."
        )


def check_partition(named: str | None) -> None:
    """Raises ConfigError if a partition (or one of several, as in `a,b`) does not exist; SlurmError."""
    known = ask("sinfo", "--noheader", "--all", "--format=%R").split()
    for name in (named or "").split(","):
        if name and name not in known:
            raise ConfigError(f"There is no partition {name} in this cluster; there are {', '.join(sorted(known))}.")


def this_cluster(patience: float = PATIENCE_SECONDS) -> str | None:
    """The name of the cluster that is asked; None where it does not say within `patience` seconds."""
    try:
        return os.environ.get("SLURM_CLUSTER_NAME") or _configured("ClusterName", patience)
    except SlurmError:
        return None


def largest_array() -> int:
    """How many jobs an array may have.  Raises SlurmError."""
    configured = _configured("MaxArraySize") or ""
    return max(1, int(configured)) if configured.isdecimal() else 1001  # Slurm's default


def queue_of(
    users: Collection[str], columns: Sequence[str], *options: str, patience: float = PATIENCE_SECONDS
) -> list[list[str]]:
    """What squeue says of the jobs of users, a row for each job of an array.  Raises SlurmError.

    columns: as in ("%F", "%T").
    """
    return _queue(columns, f"--user={','.join(users)}", *options, patience=patience) if users else []


def in_queue(
    jobs: Collection[str], columns: Sequence[str], *options: str, patience: float = PATIENCE_SECONDS
) -> list[list[str]]:
    """What squeue says of jobs, in the same way; nothing of those that it has forgotten.  Raises SlurmError."""
    try:
        return _queue(columns, f"--jobs={','.join(sorted(jobs))}", *options, patience=patience) if jobs else []
    except SlurmError as error:
        if "Invalid job id" in str(error):
            return []
        raise


def in_accounting(jobs: Collection[str], columns: Sequence[str], patience: float = PATIENCE_SECONDS) -> list[list[str]]:
    """What sacct says of jobs, each followed by its steps.  columns: as in ("JobID", "State").  Raises SlurmError."""
    if not jobs:
        return []
    bound, fields = _boundary(), f"--format={','.join(columns)}"
    command = ("sacct", "--noheader", "--parsable2", "--allusers", fields, f"--jobs={','.join(sorted(jobs))}")
    answer = _without(bound, *command, f"--delimiter={bound}", patience=patience)
    rows = (line.split(bound) for line in answer.split("\n"))
    return [row for row in rows if len(row) == len(columns)]  # others go on where a command has a line break


def seconds_left(job: str) -> float | None:
    """Seconds until the job's time limit; None where it has none, or Slurm does not say."""
    try:
        return in_seconds(ask("squeue", "--noheader", f"--jobs={job}", "--format=%L").strip())
    except SlurmError:
        return None


def in_seconds(words: str) -> float | None:
    """Slurm's way of writing a time, 1-02:03:04, 02:03:04 or 03:04, in seconds; None for UNLIMITED and its like."""
    found = _LIMIT.fullmatch(words)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.group("days", "hours", "minutes", "seconds"))
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def requeue(job: str) -> None:
    """Puts a running job back into the queue; Slurm ends it as it stands.  Raises SlurmError."""
    ask("scontrol", "requeue", job)


def release(jobs: Collection[str]) -> None:
    """Lets jobs start that are held.  Raises SlurmError."""
    if jobs:
        ask("scontrol", "release", *sorted(jobs))


def cancel(jobs: Collection[str]) -> None:
    """Cancels jobs, with all of their arrays; jobs that are over are no error.  Raises SlurmError."""
    if jobs:
        ask("scancel", "--quiet", *sorted(jobs))


def _configured(setting: str, patience: float = PATIENCE_SECONDS) -> str | None:
    """A setting of the cluster's; None where it does not say.  Raises SlurmError."""
    found = re.search(rf"^{setting}\s*=\s*(\S+)", ask("scontrol", "show", "config", patience=patience), re.MULTILINE)
    return found[1] if found else None


def _queue(columns: Sequence[str], *options: str, patience: float) -> list[list[str]]:
    """The rows of squeue.  A comment or a command may hold any sign, also a line break."""
    bound = _boundary()
    command = ("squeue", "--noheader", "--array", *options, f"--format={bound}{bound.join(columns)}")
    fields = _without(bound, *command, patience=patience).split(bound)[1:]
    rows = [fields[at : at + len(columns)] for at in range(0, len(fields), len(columns))]
    return [[*row[:-1], row[-1].removesuffix("\n")] for row in rows if len(row) == len(columns)]


def _boundary() -> str:
    """What stands between columns: as in a mail of several parts, a word that no job can have said before."""
    return f"<{secrets.token_hex(6)}>"


def _without(bound: str, *command: str, patience: float) -> str:
    """What a command answers.  Raises SlurmError, in which bars stand between columns."""
    try:
        return ask(*command, patience=patience)
    except SlurmError as error:
        raise SlurmError(str(error).replace(bound, "|")) from error


def ask(*command: str, patience: float = PATIENCE_SECONDS) -> str:
    """What one of Slurm's commands answers.  patience: seconds it may take.  Raises SlurmError."""
    environment = os.environ | {"SLURM_BITSTR_LEN": "0"}  # which jobs of an array, in full
    try:
        answer = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=patience, env=environment
        )
    except FileNotFoundError as error:
        raise SlurmError(f"{command[0]} is not on this machine.") from error
    except OSError as error:
        raise SlurmError(f"{command[0]} cannot be started: {error}.") from error
    except subprocess.TimeoutExpired as error:
        raise SlurmError(f"`{' '.join(command)}` has not answered for {patience:g} seconds.") from error
    if answer.returncode:
        said = " ".join(answer.stderr.split()) or f"exit status {answer.returncode}"
        raise SlurmError(f"`{' '.join(command)}` failed: {said}")
    return answer.stdout
