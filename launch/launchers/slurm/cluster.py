"""Queries and orders to Slurm, each through one Slurm command, and the states of jobs in plain words.

`submit_once` submits jobs, through submitit.
"""

import os
import re
import secrets
import shutil
import signal
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from launch.runs.files import table_in
from plasticity_lab.errors import ConfigError, PlasticityError

COMMANDS = ("sbatch", "srun", "squeue", "sinfo", "scontrol", "scancel")
"""The Slurm commands that submitting, watching and cancelling a sweep need; sacct is optional."""
PATIENCE_SECONDS = 60.0
"""The time to wait for an answer. Controllers of large clusters are slow at times."""
_LIMIT = re.compile(r"(?:(?:(?P<days>\d+)-)?(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+)")
_BOUND = re.compile(r"<[0-9a-f]{12}>")
"""The separator between columns. Each query draws a random one, so that no job's text can contain it."""
RUNNING = frozenset({"RUNNING", "RESIZING", "SIGNALING"})
_ENDING = frozenset({"COMPLETING", "STAGE_OUT"})
"""The states of jobs with ended workers that Slurm has not cleaned up yet."""
_WORDS = table_in("launchers/slurm/job_states.yaml")
ENDED: Mapping[str, str] = _WORDS["ended"]
"""State → words, for jobs that are over."""
_WAITING: Mapping[str, str] = _WORDS["waiting"]
_HELD_STATES = ("REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT")
_NEVER = "and will never start"
_SIGNALS = {number.value: number.name for number in signal.Signals}
NO_LOG = 53  # Slurm's signal number for a job with an output file that Slurm could not open
QUEUE_COLUMNS = ("%i", "%T", "%r", "%N")
"""The columns of squeue for `JobState.reported`."""
ACCOUNTING_COLUMNS = ("JobID", "State", "ExitCode", "NodeList")


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


@dataclass(frozen=True)
class JobState:
    """The state of a job.

    job: its name in Slurm's commands, 12, or 12_3 in an array. state: Slurm's word; empty if Slurm gives none. reason:
    Slurm's word for the reason why it waits. nodes: the nodes of its present or last start, empty before the first.
    status, number: the exit status of a failed job, and the signal that ended it; 0 for none.
    """

    job: str
    state: str
    reason: str = ""
    nodes: str = ""
    status: int = 0
    number: int = 0

    @classmethod
    def reported(cls, job: str, words: str, reason: str, nodes: str, code: str = "") -> "JobState":
        """The state from Slurm's words. Each word may be empty, None or Unknown.

        words: the state, such as FAILED or CANCELLED by 1000. code: exit status and signal, such as 1:0.
        """
        numbers = re.fullmatch(r"(\d+):(\d+)", code)
        status, number = map(int, numbers.groups()) if numbers else (0, 0)
        return cls(job, next(iter(words.split()), ""), reason, nodes, status, number)

    @property
    def runs(self) -> bool:
        """Whether it runs on its nodes."""
        return self.state in RUNNING

    @property
    def waits(self) -> bool:
        """Whether it waits for Slurm to start or continue it."""
        return self.state == "PENDING" or self.state in _WAITING

    @property
    def lives(self) -> bool:
        """Whether it runs, or may run later; True for unknown states."""
        return self.state not in ENDED and self.state not in _ENDING

    @property
    def held(self) -> bool:
        """Whether it waits to be released: JobHeldUser, launch failed requeued held, job requeued in held state, …"""
        return self.waits and (self.state in _HELD_STATES or "held" in self.reason.lower())

    @property
    def to_start(self) -> bool:
        """Whether it waits and will start without an action, as far as Slurm reports."""
        return self.waits and not self.held and _NEVER not in self.why

    @property
    def ended_early(self) -> bool:
        """Whether it is over, and its worker did not end by itself."""
        return self.state in ENDED and self.state != "COMPLETED"

    @property
    def why(self) -> str:
        """Words for why it waits, or how it ended; empty for jobs that run or are ending."""
        if self.waits:
            return _WAITING.get(self.state) or _waiting(self.reason)
        if self.state == "FAILED" and self.number == NO_LOG:
            return "could not start, for example because its node lacks the folder of its log"
        if self.state == "FAILED" and self.number:
            often = ", as happens where memory runs out" if self.number == signal.SIGKILL else ""
            return f"killed by {_SIGNALS.get(self.number, f'signal {self.number}')}{often}"
        if self.state == "FAILED" and self.status:
            return f"failed with exit status {self.status}"
        if self.lives and not self.runs:
            return f"in a state that this version does not know ({self.state or 'Slurm gives none'})"
        return ENDED.get(self.state, "")

    def __str__(self) -> str:
        if self.waits:
            return f"waits {self.why}"
        if self.ended_early:
            return f"ended early: {self.why}"
        if self.state in _ENDING:
            return "is ending"
        return "runs" if self.runs else "ended" if self.state in ENDED else f"is {self.why}"


def states_of(jobs: Collection[str], patience: float) -> tuple[dict[str, JobState], str]:
    """Name → state, for jobs and for each job of an array; squeue and sacct are each called once.

    Jobs that both have forgotten are left out. patience: the seconds that each of the two may take. Also returns the
    reason why sacct gives no endings; empty if it does.  Raises SlurmError if squeue does not answer.
    """
    rows = queue(QUEUE_COLUMNS, f"--jobs={','.join(sorted(jobs))}", "--states=all", patience=patience)
    states = {row[0]: JobState.reported(*row) for row in rows}
    try:
        return with_accounting(states, accounting(jobs, ACCOUNTING_COLUMNS, patience)), ""
    except SlurmError as error:
        return states, str(error)


def with_accounting(queued: Mapping[str, JobState], rows: Iterable[Sequence[str]]) -> dict[str, JobState]:
    """Name → state of jobs from squeue, completed with the rows of sacct, which tell how jobs ended.

    rows: values of ACCOUNTING_COLUMNS, each job followed by its steps.
    """
    states = dict(queued)
    for job, words, code, nodes in rows:
        name, step = job.split(".", 1) if is_step(job) else (job, "")
        reported = JobState.reported(name, words, "", nodes, code)
        if step:
            # Only a later step tells how the worker ended: the job's own status comes from srun.
            if step not in ("batch", "extern") and name in states and states[name].state == "FAILED":
                state = reported.state if reported.state == "OUT_OF_MEMORY" else "FAILED"
                states[name] = replace(states[name], state=state, number=reported.number or states[name].number)
        elif reported.state in ENDED:
            for array_job in _jobs_of_row(name):
                # squeue is more recent than sacct, but does not know the exit status, and forgets after some minutes.
                if array_job not in states or states[array_job].state == reported.state:
                    states[array_job] = replace(reported, job=array_job)
    return states


def is_step(job: str) -> bool:
    """Whether a row of sacct is a job's step, such as 12_3.batch. Dots in lists of jobs, 12_[1,3,...], do not count."""
    return "." in job.partition("[")[0]


def _jobs_of_row(job: str) -> Iterator[str]:
    """The jobs in one row of sacct. A row may hold several array jobs that never began: 12_[0-2,5,7-11:2%2]."""
    array, bracket, tasks = job.rstrip("]").partition("[")
    if not bracket:
        yield job
    for part in tasks.partition("%")[0].split(","):
        if numbers := re.fullmatch(r"(\d+)(?:-(\d+)(?::([1-9]\d*))?)?", part):  # a long list ends with dots
            first, last, step = numbers.groups()
            yield from (f"{array}{task}" for task in range(int(first), int(last or first) + 1, int(step or 1)))


def _waiting(reason: str) -> str:
    """Slurm's reason in plain words, followed by Slurm's word, which users can look up."""
    if reason in ("", "None"):
        return "for the scheduler to consider it"
    starts = [start for start in _WORDS["reasons"] if reason.startswith(start)]
    return f"{_WORDS['reasons'][max(starts, key=len)]} ({reason})" if starts else f"for the reason {reason}"
