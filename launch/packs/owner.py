"""The owner of a lease, and the evidence that it has died.

An owner is a process on a host, and under Slurm also the job that started it. A process that the kernel kills for lack
of memory cannot report that. So a lease holds the number of such kills in its owner's control group at the time of the
claim. If the next worker of that group counts more kills, that is the evidence.
"""

import dataclasses
import functools
import os
import socket
import subprocess
from pathlib import Path

from plasticity_lab.process.control_groups import folders

_ENDED = "ended"
MEMORY = "memory"
"""The key of a lease's `Kills`."""


@dataclasses.dataclass(frozen=True)
class Owner:
    """A process that cannot be mistaken for a later one with the same process id.

    host: the machine, and the container if it has its own process ids; host names must be distinct. started: the time
    when the process started. restart: how often Slurm has requeued the job. cluster: the job's cluster, since two
    clusters may give the same job number.
    """

    host: str
    pid: int
    started: str | None = None
    job: str | None = None
    task: str | None = None
    restart: int = 0
    cluster: str | None = None

    def precedes(self, other: "Owner") -> bool:
        """Whether this is an earlier start of the other's Slurm job, before a requeue.

        Only the later start may take over: after a node failure both can be alive, and they would take the pack from
        each other in turn. Leases of earlier versions do not name the cluster: then the numbers of job and task decide.
        """
        same = self.job is not None and (self.job, self.task) == (other.job, other.task)
        elsewhere = None not in (self.cluster, other.cluster) and self.cluster != other.cluster
        return same and not elsewhere and self.restart < other.restart

    @property
    def job_name(self) -> str | None:
        """The job's name in Slurm's commands: 12, or 12_3 in an array; None for a local worker."""
        return self.job if self.task is None else f"{self.job}_{self.task}"

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
    """Whether the owner was a process of this host and has ended. False if this host cannot know."""
    if owner.host != _host():
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # another user's process exists with this id
    started = _started(owner.pid)
    if started is _ENDED:
        return True
    return None not in (started, owner.started) and started != owner.started


@functools.cache
def _host() -> str:
    """The host's name; in a container with its own process ids, also the container's process namespace."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return socket.gethostname()
    # The number of the first namespace is fixed in Linux (PROC_PID_INIT_INO).
    return socket.gethostname() if namespace == "pid:[4026531836]" else f"{socket.gethostname()}/{namespace}"


def _started(pid: int) -> str | None:
    """The start of a process: the boot's id and the clock ticks since boot, or the time that ps prints.

    None if neither is available. _ENDED if the process has ended and its parent has not collected it yet (a zombie).
    """
    try:
        # The name in the second field may hold spaces and brackets. The fields after its last bracket are plain.
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
    """Out-of-memory kills.  group: a control group, with its machine's boot id. count: its kills so far."""

    group: str
    count: int

    @staticmethod
    def came(before: "Kills | None", after: "Kills | None") -> bool:
        """Whether a process of the same group was killed between two counts."""
        return before is not None and after is not None and before.group == after.group and after.count > before.count


def oom_kills() -> Kills | None:
    """The out-of-memory kills in this process's control group; None if the system does not count them."""
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
