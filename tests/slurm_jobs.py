"""Jobs of a sweep on a real Slurm, and what tests do to them."""

import json
import subprocess
import time

from launch.slurm.jobs_file import read_jobs
from plasticity_lab.records.store import Store
from tests.sweeps import PATIENCE, said, wait_until

LONG = ("benchmark.tasks=100", "checkpoint_minutes=60", "launch.lease_seconds=30")
"""A run that takes some seconds, and writes a checkpoint only if it is told to stop."""


def submitted(store: Store, *words: str) -> str:
    """Gives a command that submits its sweep; the id of its last job."""
    status, err = said(store, "hydra/launcher=packed_slurm", *words)
    assert status == 0, err
    (sweep,) = (path.name for path in (store.root / "sweeps").iterdir())
    return list(read_jobs(store, sweep).jobs)[-1]


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


def field(job: str, name: str) -> str:
    """What `scontrol show job` says of a job, also one that has just ended."""
    words = order("scontrol", "show", "job", job).split()
    return next(word.partition("=")[2] for word in words if word.startswith(f"{name}="))


def ended(job: str) -> str:
    """Waits until a job is over; its last state."""
    over = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "PREEMPTED", "NODE_FAIL")
    wait_until(lambda: field(job, "JobState") in over)
    return field(job, "JobState")


def log_of(store: Store) -> str:
    """What all workers of the store have said."""
    return "".join(path.read_text() for path in sorted(store.root.glob("sweeps/*/jobs/*.out")))


def let_train(store: Store) -> None:
    """Waits until a pack is under way."""
    deadline = time.monotonic() + PATIENCE
    while not trains(store):
        assert time.monotonic() < deadline, log_of(store)
        time.sleep(0.1)
