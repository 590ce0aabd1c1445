"""Queries and orders to Slurm, each through one Slurm command. `submit_once` submits jobs, through submitit."""

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Collection, Sequence

from plasticity_lab.errors import ConfigError, PlasticityError

COMMANDS = ("sbatch", "srun", "squeue", "sinfo", "scontrol", "scancel")
"""The Slurm commands that submitting, watching and cancelling a sweep need; sacct is optional."""
PATIENCE_SECONDS = 60.0
"""The time to wait for an answer. Controllers of large clusters are slow at times."""
_LIMIT = re.compile(r"(?:(?:(?P<days>\d+)-)?(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+)")
_BOUND = re.compile(r"<[0-9a-f]{12}>")
"""The separator between columns. Each query draws a random one, so that no job's text can contain it."""


class SlurmError(PlasticityError):
    """Slurm refused a query or an order, or did not answer."""


def check_there() -> None:
    """Raises ConfigError if this machine cannot submit jobs."""
    missing = [name for name in COMMANDS if shutil.which(name) is None]
    if missing:
        raise ConfigError(
            f"hydra/launcher=packed_slurm needs {', '.join(missing)}, missing on this machine; run the command on a "
            "login node of a Slurm cluster. `make slurm-up` starts a small cluster for trials."
        )


def check_partition(named: str | None) -> None:
    """Raises ConfigError if a partition (or one of several, as in `a,b`) does not exist; SlurmError."""
    known = ask("sinfo", "--noheader", "--all", "--format=%R").split()
    for name in (named or "").split(","):
        if name and name not in known:
            raise ConfigError(f"There is no partition {name} in this cluster; there are {', '.join(sorted(known))}.")


def this_cluster(patience: float = PATIENCE_SECONDS) -> str | None:
    """The name of this cluster; None if it gives no name within `patience` seconds."""
    try:
        return os.environ.get("SLURM_CLUSTER_NAME") or _configured("ClusterName", patience)
    except SlurmError:
        return None


def largest_array() -> int:
    """The largest allowed number of jobs in an array.  Raises SlurmError."""
    configured = _configured("MaxArraySize") or ""
    return max(1, int(configured)) if configured.isdecimal() else 1001  # Slurm's default


def queue(columns: Sequence[str], *options: str, patience: float = PATIENCE_SECONDS) -> list[list[str]]:
    """The rows of squeue, one for each job of an array.  Raises SlurmError.

    columns: such as ("%F", "%T"); a comment or a command may hold any characters, even line breaks. options: options
    that select jobs, such as "--jobs=12". Jobs that Slurm has forgotten have no row.
    """
    bound = f"<{secrets.token_hex(6)}>"
    command = ("squeue", "--noheader", "--array", *options, f"--format={bound}{bound.join(columns)}")
    try:
        fields = ask(*command, patience=patience).split(bound)[1:]
    except SlurmError as error:
        if "Invalid job id" in str(error):
            return []
        raise
    rows = [fields[at : at + len(columns)] for at in range(0, len(fields), len(columns))]
    return [[*row[:-1], row[-1].removesuffix("\n")] for row in rows if len(row) == len(columns)]


def accounting(jobs: Collection[str], columns: Sequence[str], patience: float = PATIENCE_SECONDS) -> list[list[str]]:
    """The rows of sacct for jobs, each followed by rows of its steps.  columns: such as ("JobID", "State").

    Raises SlurmError.
    """
    if not jobs:
        return []
    bound, fields = f"<{secrets.token_hex(6)}>", f"--format={','.join(columns)}"
    command = ("sacct", "--noheader", "--parsable2", "--allusers", fields, f"--jobs={','.join(sorted(jobs))}")
    rows = (line.split(bound) for line in ask(*command, f"--delimiter={bound}", patience=patience).split("\n"))
    return [row for row in rows if len(row) == len(columns)]  # other lines continue a command that has a line break


def seconds_left(job: str) -> float | None:
    """Seconds until the job's time limit; None without a limit, or if Slurm does not answer."""
    try:
        return in_seconds(ask("squeue", "--noheader", f"--jobs={job}", "--format=%L").strip())
    except SlurmError:
        return None


def in_seconds(words: str) -> float | None:
    """Parses Slurm's times 1-02:03:04, 02:03:04 and 03:04 into seconds; None for UNLIMITED and other words."""
    match = _LIMIT.fullmatch(words)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.group("days", "hours", "minutes", "seconds"))
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def release(jobs: Collection[str]) -> None:
    """Lets held jobs start.  Raises SlurmError."""
    if jobs:
        ask("scontrol", "release", *sorted(jobs))


def cancel(jobs: Collection[str]) -> None:
    """Cancels jobs or whole arrays. Jobs that are over are no error.  Raises SlurmError."""
    if jobs:
        ask("scancel", "--quiet", *sorted(jobs))


def _configured(setting: str, patience: float = PATIENCE_SECONDS) -> str | None:
    """A setting of the cluster's configuration; None if it is missing.  Raises SlurmError."""
    match = re.search(rf"^{setting}\s*=\s*(\S+)", ask("scontrol", "show", "config", patience=patience), re.MULTILINE)
    return match[1] if match else None


def ask(*command: str, patience: float = PATIENCE_SECONDS) -> str:
    """The output of a Slurm command.  patience: the seconds that it may take.  Raises SlurmError."""
    environment = os.environ | {"SLURM_BITSTR_LEN": "0"}  # lists the jobs of an array in full
    shown = _BOUND.sub("|", " ".join(command))
    try:
        answer = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=patience, env=environment
        )
    except FileNotFoundError as error:
        raise SlurmError(f"{command[0]} is not on this machine.") from error
    except OSError as error:
        raise SlurmError(f"{command[0]} cannot be started: {error}.") from error
    except subprocess.TimeoutExpired as error:
        raise SlurmError(f"`{shown}` has not answered for {patience:g} seconds.") from error
    if answer.returncode:
        words = _BOUND.sub("|", " ".join(answer.stderr.split())) or f"exit status {answer.returncode}"
        raise SlurmError(f"`{shown}` failed: {words}")
    return answer.stdout
