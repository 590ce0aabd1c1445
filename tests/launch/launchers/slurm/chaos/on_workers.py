"""What happens to single workers: killed, stopped for longer than their lease, requeued, cancelled."""

import contextlib
import os
import signal
import subprocess

from tests.helpers.slurm_jobs import order
from tests.launch.launchers.slurm.chaos.scene import Scene

STORM = 3
"""How often all are requeued in a storm."""


def kill(scene: Scene) -> bool:
    """Kills one."""
    return _signalled(scene, signal.SIGKILL)


def stop(scene: Scene) -> bool:
    """Freezes one for longer than its lease."""
    worker = scene.one_training()
    if worker is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker.pid, signal.SIGSTOP)
        scene.later(1.5 * scene.lease_seconds, lambda: os.kill(worker.pid, signal.SIGCONT))
    return True


def requeue(scene: Scene) -> bool:
    """Puts one back into the queue."""
    worker = scene.one_training()
    return worker is not None and _ordered("scontrol", "requeue", f"{worker.job}_{worker.task}")


def storm(scene: Scene) -> bool:
    """Puts all that train back into the queue, again and again."""
    workers = scene.training()
    for moment in range(STORM):
        for worker in workers:
            name = f"{worker.job}_{worker.task}"
            scene.later(2.0 * moment, lambda name=name: order("scontrol", "requeue", name))
    return bool(workers)


def cancel_one(scene: Scene) -> bool:
    """Has Slurm cancel one."""
    worker = scene.one_training()
    return worker is not None and _ordered("scancel", f"{worker.job}_{worker.task}")


def hold(scene: Scene) -> bool:
    """Puts one back into the queue and holds it there, until `resume` is given."""
    worker = scene.one_training()
    if worker is None or not _ordered("scontrol", "requeuehold", f"{worker.job}_{worker.task}"):
        return False
    sweep = scene.sweeps()[0]
    scene.later(scene.draw.uniform(5, 20), lambda: scene.give("launch", "resume", sweep, *_store(scene)) and None)
    return True


def _store(scene: Scene) -> tuple[str, str]:
    return "--store", str(scene.store.root)


def _signalled(scene: Scene, number: signal.Signals) -> bool:
    worker = scene.one_training()
    if worker is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker.pid, number)
    return True


def _ordered(*words: str) -> bool:
    """Gives Slurm an order.  Returns whether it took it."""
    try:
        order(*words)
    except subprocess.CalledProcessError:
        return False
    return True
