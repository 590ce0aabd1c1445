"""Jobs of a sweep on a real Slurm, and what tests do to them."""

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from launch.launchers.slurm import cluster
from launch.packs.submissions import submissions_of
from plasticity_lab.process.account import user_name
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import PATIENCE, said, wait_until

LAB = Path(os.environ.get("SLURM_LAB", Path.home() / ".slurm-lab"))
LONG = ("benchmark.tasks=100", "checkpoint_minutes=60", "launch.lease_seconds=30")
"""A run that takes some seconds, and writes a checkpoint only if it is told to stop."""


class NoneOfItsOwn(Exception):
    """A process of pytest has no Slurm for itself, and what its tests do to nodes would meet another's jobs."""


def configuration(lab: Path = LAB) -> Path:
    """slurm.conf of the Slurm of this process: that of launch/cluster/once.sh with its name, or of `make slurm-up`.

    The file may not be there: then none runs. lab: the folder in which they lie.  Raises NoneOfItsOwn.
    """
    process, alone = os.environ.get("PYTEST_XDIST_WORKER"), lab / "etc" / "slurm.conf"
    own = lab / (process or "gw0") / "etc" / "slurm.conf"
    if own.exists():
        return own
    several = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT") or 1) > 1 and alone.exists()
    if several or any(lab.glob("gw*/etc/slurm.conf")):
        raise NoneOfItsOwn(
            f"Process {process or 'of pytest'} has no Slurm of its own in {lab}: `make test-slurm` starts one for each "
            "process, and `pytest -n 0` needs but one."
        )
    return alone


@contextmanager
def claimed(configured: Path) -> Iterator[None]:
    """Holds a Slurm for this process alone.  Raises NoneOfItsOwn where another process of pytest holds it."""
    with open(configured) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NoneOfItsOwn(
                f"Another pytest uses the Slurm of {configured}; `make test-slurm` starts others."
            ) from None
        yield


def submitted(store: Store, *words: str) -> str:
    """Gives a command that submits its sweep; the id of its last job."""
    status, err = said(store, "hydra/launcher=packed_slurm", *words)
    assert status == 0, err
    return jobs_of(store)[-1]


def jobs_of(store: Store) -> list[str]:
    """The ids of the arrays that the store's one sweep was given; none where it was not submitted yet."""
    sweeps = [path.name for path in store.root.glob("sweeps/*")]
    found = submissions_of(store, sweeps[0], []) if len(sweeps) == 1 else []
    return [each.job for each in found if each.job is not None]


def trains(store: Store, tasks: int = 2) -> bool:
    """Whether some pack has got so far."""
    for path in store.root.glob("packs/*/progress.json"):
        if json.loads(path.read_text())["steps"] >= 90 * tasks:
            return True
    return False


def checkpoints(store: Store) -> list[str]:
    return [path.name for path in store.root.glob("packs/*/checkpoint.*")]


def order(*command: str) -> str:
    """One of Slurm's commands."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def processes_of_steps(store: Store) -> list[int]:
    """Processes on this machine, by number, that srun has started for jobs of the store, and their children."""
    found, root = [], os.fsencode(store.root)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            words, environment = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
            if root in words + environment and b"SLURM_STEP_ID=0" in environment.split(b"\0"):
                found.append(int(folder.name))
    return found


def announce(store: Store) -> None:
    """Sends all processes of the store's jobs the announcement of their end, as Slurm does."""
    for process in processes_of_steps(store):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGUSR2)


def given(folder: Path, script: str, *words: str) -> str:
    """Submits a job that is no worker, in a test's folder; its id."""
    return order("sbatch", "--parsable", "--output=/dev/null", f"--chdir={folder}", *words, f"--wrap={script}").strip()


def push_out(folder: Path, *words: str, seconds: int = 2) -> None:
    """Submits a job that outranks those of the preemptible partitions, and wants whole nodes: `words` say which."""
    given(folder, f"sleep {seconds}", "--job-name=pusher", "--partition=cpu", "--exclusive", *words)


def jobs_in(folder: Path) -> set[str]:
    """The jobs in the queue that are a test's: their scripts lie in its folder, or they were submitted in it."""
    rows = cluster.queue(("%F", "%o", "%Z"), f"--user={user_name()}")
    return {job for job, *places in rows if any(f"{place}/".startswith(f"{folder}/") for place in places)}


def lose(node: str) -> None:
    """Ends a node's slurmd, which Slurm takes for the node's loss; its jobs train on."""
    os.kill(int(_number_of(node).read_text()), signal.SIGKILL)
    _number_of(node).unlink()


def bring_back(node: str) -> None:
    """Starts the slurmd of a node that was lost."""
    order("slurmd", "-N", node)
    wait_until(lambda: _number_of(node).exists() and bool(_number_of(node).read_text()))


def _number_of(node: str) -> Path:
    """The file that slurmd writes its process number into, some time after it has begun."""
    return Path(os.environ["SLURM_CONF"]).parents[1] / "pid" / f"slurmd-{node}.pid"


def resume_drained() -> None:
    """Puts nodes back to use as an administrator would.

    Slurm drains one ("Duplicate jobid") that comes back with a worker of a job that it then starts there anew. It
    refuses the order for a node that it has put back itself meanwhile, or that registers just then: ask again later.
    """
    drained = set(order("sinfo", "--noheader", "--Node", "--states=drain", "--format=%N").split())
    for node in drained:
        with suppress(subprocess.CalledProcessError):
            order("scontrol", "update", f"NodeName={node}", "State=RESUME")


def field(job: str, name: str) -> str:
    """What `scontrol show job` says of a job, also one that has just ended."""
    words = order("scontrol", "show", "job", job).split()
    return next(word.partition("=")[2] for word in words if word.startswith(f"{name}="))


def ended(job: str) -> str:
    """Waits until a job is over; its last state."""
    over = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "PREEMPTED", "NODE_FAIL")
    wait_until(lambda: field(job, "JobState") in over)
    return field(job, "JobState")


def standing() -> str:
    """Jobs, nodes and why nodes are out of use, as Slurm has them now."""
    questions = (("squeue",), ("sinfo",), ("sinfo", "--list-reasons"), ("sacct", "--format=JobID,State,ExitCode"))
    return "\n".join(subprocess.run(words, capture_output=True, text=True).stdout for words in questions)


def log_of(store: Store) -> str:
    """What all workers of the store have said."""
    return "".join(path.read_text() for path in sorted(store.root.glob("sweeps/*/jobs/*/*.out")))


def let_train(store: Store) -> None:
    """Waits until a pack is under way."""
    deadline = time.monotonic() + PATIENCE
    while not trains(store):
        assert time.monotonic() < deadline, log_of(store)
        time.sleep(0.1)
