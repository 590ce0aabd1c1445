"""How jobs stand, in words that need no manual: why Slurm lets one wait, and how one ended."""

import re
import signal
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from launch.launchers.slurm import cluster

RUNNING = frozenset({"RUNNING", "RESIZING", "SIGNALING"})
_ENDING = frozenset({"COMPLETING", "STAGE_OUT"})
"""The states of jobs whose workers have ended, and that Slurm has not cleared away yet."""
WELL = "COMPLETED"
ENDED = {
    WELL: "well",
    "BOOT_FAIL": "its node did not start",
    "CANCELLED": "cancelled",
    "DEADLINE": "deadline",
    "FAILED": "failed",
    "NODE_FAIL": "node failure",
    "OUT_OF_MEMORY": "out of memory",
    "PREEMPTED": "preempted",
    "TIMEOUT": "time limit",
}
"""The states of jobs that are over. A job that Slurm puts back into the queue is not: it waits, or runs again."""
_WAITING = {
    "CONFIGURING": "until its node has started",
    "POWER_UP_NODE": "until its node has started",
    "REQUEUED": "to be queued again",
    "REQUEUE_FED": "to be queued again",
    "REQUEUE_HOLD": "until it is released (`scontrol release`)",
    "RESV_DEL_HOLD": "until it is released (`scontrol release`): its reservation was deleted",
    "REVOKED": "for another cluster of the federation, which has started it",
    "SPECIAL_EXIT": "until it is released (`scontrol release`)",
    "STOPPED": "until it is continued",
    "SUSPENDED": "until it is continued",
}
"""The other states of jobs that do not run and are not over, besides PENDING."""
_HELD_STATES = ("REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT")
_SHORT = {
    "BF": "BOOT_FAIL",
    "CA": "CANCELLED",
    "CD": "COMPLETED",
    "CF": "CONFIGURING",
    "CG": "COMPLETING",
    "DL": "DEADLINE",
    "F": "FAILED",
    "NF": "NODE_FAIL",
    "OOM": "OUT_OF_MEMORY",
    "PD": "PENDING",
    "PR": "PREEMPTED",
    "R": "RUNNING",
    "RD": "RESV_DEL_HOLD",
    "RF": "REQUEUE_FED",
    "RH": "REQUEUE_HOLD",
    "RQ": "REQUEUED",
    "RS": "RESIZING",
    "RV": "REVOKED",
    "S": "SUSPENDED",
    "SE": "SPECIAL_EXIT",
    "SI": "SIGNALING",
    "SO": "STAGE_OUT",
    "ST": "STOPPED",
    "TO": "TIMEOUT",
}
"""The states as Slurm shortens them: all that its manual lists (squeue, JOB STATE CODES)."""
NO_LOG = 53
"""What Slurm gives for the signal where it could not open the job's output."""
_ACCOUNT = "until the account's limit leaves room"
_QOS = "until the limit of its quality of service leaves room"
_NODES = "until nodes come back that are down, drained or reserved"
_NEVER = "and will never start"
_REASONS = {
    "AccountNotAllowed": f"{_NEVER}: its account may not use the partition",
    "Assoc": _ACCOUNT,
    "BadConstraints": f"{_NEVER}: no node has what it asks for",
    "BeginTime": "until its time comes, some minutes at most after it was queued again",
    "Cleaning": "until its earlier start is cleared away",
    "Dependency": "for another job",
    "DependencyNeverSatisfied": f"{_NEVER}: a job that it depends on failed",
    "InvalidAccount": f"{_NEVER}: its account is not valid",
    "InvalidQOS": f"{_NEVER}: its quality of service is not valid",
    "JobArrayTaskLimit": "until others of its array end, as array_parallelism says",
    "JobHeldAdmin": "until an administrator releases it",
    "JobHeldUser": "until it is released (`scontrol release`)",
    "Licenses": "for a licence",
    "Max": _ACCOUNT,
    "NodeDown": _NODES,
    "Nodes required": _NODES,
    "None": "to be looked at by the scheduler",
    "PartitionDown": "until its partition is up again",
    "PartitionInactive": "until its partition is up again",
    "PartitionNodeLimit": f"{_NEVER}: it asks for more nodes than its partition allows or has",
    "PartitionTimeLimit": f"{_NEVER}: it asks for more time than its partition allows",
    "Priority": "behind jobs of higher priority",
    "QOS": _QOS,
    "ReqNodeNotAvail": _NODES,
    "Reservation": "for its reservation",
    "Resources": "until nodes are free",
    "WaitingForScheduling": "to be looked at by the scheduler",
    "job requeued in held state": "until it is released (`scontrol release`)",
    "launch failed requeued held": "until it is released (`scontrol release`): it could not be started",
}
"""The beginnings of Slurm's reasons; the longest that fits counts (AssocGrpCpuLimit, QOSMaxJobsPerUserLimit, …)."""
QUEUE_COLUMNS = ("%i", "%T", "%r", "%N")
"""What `JobState.reported` takes from squeue."""


@dataclass(frozen=True)
class JobState:
    """A job as Slurm's commands name it, 12, or 12_3 in an array.

    state: Slurm's long word; empty where it gives none. reason: Slurm's word for why it waits. nodes: where it runs or
    ran, empty before. status and number: of those that failed, the exit status and the signal that ended it, 0 for
    none.
    """

    job: str
    state: str
    reason: str = ""
    nodes: str = ""
    status: int = 0
    number: int = 0

    @classmethod
    def reported(cls, job: str, words: str, reason: str, nodes: str, code: str = "") -> "JobState":
        """A job in Slurm's words, of which any may be empty, or say None or Unknown.

        words: the state, as in CANCELLED by 1000, CA or CANCEL+. code: exit status and signal, as in 1:0.
        """
        known = re.fullmatch(r"(\d+):(\d+)", code)
        status, number = map(int, known.groups()) if known else (0, 0)
        return cls(job, _long(words), reason, nodes, status, number)

    @property
    def runs(self) -> bool:
        """Whether it has its nodes and is at work."""
        return self.state in RUNNING

    @property
    def waits(self) -> bool:
        """Whether Slurm is to start it, or to let it go on."""
        return self.state == "PENDING" or self.state in _WAITING

    @property
    def lives(self) -> bool:
        """Whether it runs, or may come to run: what this version does not know is not over."""
        return self.state not in ENDED and self.state not in _ENDING

    @property
    def held(self) -> bool:
        """Whether it waits to be released: JobHeldUser, launch failed requeued held, job requeued in held state, …"""
        return self.waits and (self.state in _HELD_STATES or "held" in self.reason.lower())

    @property
    def to_start(self) -> bool:
        """Whether it waits and will start by itself, as far as Slurm says."""
        return self.waits and not self.held and _NEVER not in self.why

    @property
    def ended_early(self) -> bool:
        """Whether it is over, and its worker did not end by itself."""
        return self.state in ENDED and self.state != WELL

    @property
    def why(self) -> str:
        """Why it waits, or how it ended; empty for jobs that run, or are ending."""
        if self.state in _WAITING:
            return _WAITING[self.state]
        if self.waits:
            return _waiting(self.reason)
        if self.state == "FAILED" and self.number == NO_LOG:
            return "could not begin, as where the folder of its log is not there on its node"
        if self.state == "FAILED" and self.number:
            often = ", as happens where memory runs out" if self.number == signal.SIGKILL else ""
            return f"killed by {_signal(self.number)}{often}"
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


def count_living(jobs: Collection[str]) -> Counter[str]:
    """Job → how many of its array wait or run; jobs that are over are left out.  Raises SlurmError."""
    rows = cluster.in_queue(jobs, ("%F", "%T"))
    return Counter(job for job, words in rows if JobState.reported(job, words, "", "").lives)


def states_of(jobs: Collection[str], patience: float) -> tuple[dict[str, JobState], str]:
    """Name → state of jobs, and of each job of an array; squeue and sacct are asked once.

    Jobs that neither remembers are left out. patience: seconds that each of the two may take. Returns also why it
    is unknown how jobs ended, where sacct does not answer.  Raises SlurmError where squeue does not.
    """
    found, gap = {}, ""
    for row in cluster.in_queue(jobs, QUEUE_COLUMNS, "--states=all", patience=patience):
        found[row[0]] = JobState.reported(*row)
    try:
        rows = cluster.in_accounting(jobs, ("JobID", "State", "ExitCode", "NodeList"), patience)
    except cluster.SlurmError as error:
        rows, gap = [], str(error)
    return with_accounting(found, rows), gap


def with_accounting(queue: Mapping[str, JobState], rows: Iterable[Sequence[str]]) -> dict[str, JobState]:
    """Name → state of jobs as squeue shows them, with what sacct knows besides: how jobs ended.

    rows: JobID, State, ExitCode and NodeList, each job followed by its steps.
    """
    found = dict(queue)
    for job, words, code, nodes in rows:
        name, step = job.split(".", 1) if is_step(job) else (job, "")
        reported = JobState.reported(name, words, "", nodes, code)
        if step:
            # A job's steps come after it. What ended its worker shows only in them: the job's own status is srun's.
            if step not in ("batch", "extern") and name in found and found[name].state == "FAILED":
                state = reported.state if reported.state == "OUT_OF_MEMORY" else "FAILED"
                found[name] = replace(found[name], state=state, number=reported.number or found[name].number)
        elif reported.state in ENDED:
            for each in _each(name):
                # squeue is ahead of the accounting, but does not know the status, and forgets after some minutes.
                if each not in found or found[each].state == reported.state:
                    found[each] = replace(reported, job=each)
    return found


def is_step(job: str) -> bool:
    """Whether a row of sacct is a job's step, as 12_3.batch is, and not a job: a long list 12_[1,3,...] is none."""
    return "." in job.partition("[")[0]


def _long(words: str) -> str:
    """A state's long word: of CANCELLED by 1000, CA and CANCEL+, CANCELLED; one that is not known stays as it is."""
    word = next(iter(words.split()), "")
    if word.endswith("+"):
        alike = [state for state in _SHORT.values() if state.startswith(word[:-1])]
        return alike[0] if len(alike) == 1 else word
    return _SHORT.get(word, word)


def _each(job: str) -> Iterator[str]:
    """The jobs that sacct shows in one row: several of an array that never began are 12_[0-2,5,7-11:2%2]."""
    array, bracket, tasks = job.rstrip("]").partition("[")
    if not bracket:
        yield job
    for part in tasks.partition("%")[0].split(","):
        if found := re.fullmatch(r"(\d+)(?:-(\d+)(?::([1-9]\d*))?)?", part):  # a long list ends with dots
            first, last, step = found.groups()
            yield from (f"{array}{task}" for task in range(int(first), int(last or first) + 1, int(step or 1)))


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _waiting(reason: str) -> str:
    """Slurm's reason in words, with its own word, by which people find more about it."""
    known = [start for start in _REASONS if reason.startswith(start)]
    if not reason or reason == "None":
        return _REASONS["None"]
    return f"{_REASONS[max(known, key=len)]} ({reason})" if known else f"for the reason {reason}"
