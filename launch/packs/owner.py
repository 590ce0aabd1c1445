"""The owner of a lease, and the evidence that it has died.

An owner is a process of a host, and under Slurm the job that started it. A process that the kernel kills for lack of
memory cannot report that itself. So a lease holds the count of such kills in its owner's control group when the pack
was taken. If the next worker of that group finds a higher count, that is the evidence.
"""

import dataclasses
import functools
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

from plasticity_lab.process.control_groups import folders
from plasticity_lab.records.damage import fault_of_fields

_FIELDS = {"host": str, "pid": int}
_FURTHER = {"started": str | None, "job": str | None, "task": str | None, "restart": int, "cluster": str | None}
"""Earlier versions left out some of these."""
_ENDED = "ended"
MEMORY = "memory"
"""The key of a lease's `Kills`."""


@dataclasses.dataclass(frozen=True)
class Owner:
    """A process that cannot be mistaken for a later one of the same number.

    host: the machine, and the container if process numbers are a container's own; host names must be distinct. started:
    when the process started. restart: how often Slurm has requeued the job. cluster: the job's, since two clusters
    count their jobs from the same numbers.
    """

    host: str
    pid: int
    started: str | None = None
    job: str | None = None
    task: str | None = None
    restart: int = 0
    cluster: str | None = None

    def precedes(self, other: "Owner") -> bool:
        """Whether this is the same Slurm job as the other, before a requeue.

        Only the later one may inherit: after a node failure both can be alive, and would steal from each other in turn.
        Leases of earlier versions do not name the cluster: then the numbers of job and task decide.
        """
        same = self.job is not None and (self.job, self.task) == (other.job, other.task)
        elsewhere = None not in (self.cluster, other.cluster) and self.cluster != other.cluster
        return same and not elsewhere and self.restart < other.restart

    @property
    def job_name(self) -> str | None:
        """The name of its job in Slurm's commands: 12, or 12_3 in an array; None for a local worker."""
        return self.job if self.task is None else f"{self.job}_{self.task}"

    def as_json(self) -> dict[str, Any]:
        """The content of a lease file."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> "Owner":
        """The owner that a lease file names; further fields, of later versions, are ignored.

        Raises ValueError with the fault of the value, as «is not a mapping».
        """
        fields = _FIELDS | {name: kind for name, kind in _FURTHER.items() if isinstance(value, dict) and name in value}
        if fault := fault_of_fields(value, fields):
            raise ValueError(fault)
        return cls(**{name: value[name] for name in fields})

    def __str__(self) -> str:
        job = "" if self.job is None else f", job {self.job_name}"
        return f"process {self.pid} on {self.host}{job}"


def this_owner() -> Owner:
    """This process."""
    environment = os.environ
    return Owner(
        host=_host(),
        pid=os.getpid(),
        started=_started(os.getpid()),
        job=environment.get("SLURM_ARRAY_JOB_ID") or environment.get("SLURM_JOB_ID"),
        task=environment.get("SLURM_ARRAY_TASK_ID"),
        restart=int(environment.get("SLURM_RESTART_COUNT") or 0),
        cluster=environment.get("SLURM_CLUSTER_NAME"),
    )


def is_dead_here(owner: Owner) -> bool:
    """Whether the owner was a process of this host and has ended. False if that cannot be known from here."""
    if owner.host != _host():
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # another user's process: it is there
    started = _started(owner.pid)
    if started is _ENDED:
        return True
    return None not in (started, owner.started) and started != owner.started


@functools.cache
def _host() -> str:
    """The host's name; in a container, whose process numbers mean nothing outside, also the container's."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return socket.gethostname()
    # The number of the first namespace is fixed in Linux (PROC_PID_INIT_INO).
    return socket.gethostname() if namespace == "pid:[4026531836]" else f"{socket.gethostname()}/{namespace}"


def _started(pid: int) -> str | None:
    """When a process started: the boot and the clock ticks since, or by ps; None if neither tells.

    _ENDED if the process has ended and only waits to be collected by its parent.
    """
    try:
        # The name in the second field may hold spaces and brackets; after its last bracket come plain fields.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        state, started = fields[0], f"{boot}+{fields[19]}"
    except (OSError, IndexError):
        command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
            state, started = answer.strip().split(None, 1)
        except (OSError, subprocess.SubprocessError, ValueError):
            return None
    return _ENDED if state[0] in "ZX" else started


@dataclasses.dataclass(frozen=True)
class Kills:
    """group: a control group, with the boot of its machine. count: its kills for memory so far."""

    group: str
    count: int

    @classmethod
    def from_json(cls, value: Any) -> "Kills | None":
        """The count in a lease file; None if it has none."""
        return None if fault_of_fields(value, {"group": str, "count": int}) else cls(value["group"], value["count"])

    @staticmethod
    def came(before: "Kills | None", after: "Kills | None") -> bool:
        """Whether a process of the same group was killed between two counts."""
        return before is not None and after is not None and before.group == after.group and after.count > before.count


def oom_kills() -> Kills | None:
    """The kills for memory in this process's control group; None if the system does not count them."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    for folder in folders("memory"):
        for name in ("memory.events", "memory.oom_control"):
            if (count := _count(folder / name)) is not None:
                return Kills(f"{boot}{folder}", count)
    return None


def _count(file: Path) -> int | None:
    try:
        lines = dict(line.split() for line in file.read_text().splitlines())
        return int(lines["oom_kill"])
    except (OSError, KeyError, ValueError):
        return None
