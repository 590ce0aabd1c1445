"""The acts of chaos, to workers, to the cluster, to the store, and by users; and a deck that deals them.

An act returns whether it hit.
"""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from launch.packs.lease_files import LeaseFiles
from tests.helpers.slurm_jobs import bring_back, lose, order, push_out
from tests.launch.launchers.slurm.chaos.scene import Act, Scene

STORM = 3
"""How often all are requeued in a storm."""
PUSHER_SECONDS = 3
AWAY_SECONDS = (2.0, 45.0)
"""A node without slurmd is taken for lost after some 15 seconds; one that is back before has only been silent."""
DOWN_SECONDS = (3.0, 25.0)
FAULT_SECONDS = (3.0, 40.0)
DISK = "768m"
"""Of a disk of its own for the store, in memory."""
FILLER = ".filler"
OBEYED_SECONDS = 15.0
"""After the word of `cancel` no worker of the sweep may train, unless it has said which does."""
PART = "seed=0,1"
"""An overlapping sweep has these seeds only."""


def kill(scene: Scene) -> bool:
    """Kills one."""
    worker = scene.one_training()
    if worker is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker.pid, signal.SIGKILL)
    return True


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
    scene.later(scene.draw.uniform(5, 20), lambda: resume(scene))
    return True


def _ordered(*words: str) -> bool:
    """Gives Slurm an order.  Returns whether it took it."""
    try:
        order(*words)
    except subprocess.CalledProcessError:
        return False
    return True


def preempt(scene: Scene) -> bool:
    """A job that outranks the sweep's takes a node."""
    try:
        push_out(scene.store.root.parent, f"--nodelist={scene.draw.choice(scene.nodes)}", seconds=PUSHER_SECONDS)
    except subprocess.CalledProcessError:
        return False
    return True


def node_loss(scene: Scene) -> bool:
    """A node is lost, and its jobs train on; another node must be left."""
    if len(scene.nodes) == 1:
        return False
    node = str(scene.draw.choice(scene.nodes))
    lose(node)
    scene.nodes.remove(node)

    def back() -> None:
        bring_back(node)
        scene.nodes.append(node)

    scene.later(scene.draw.uniform(*AWAY_SECONDS), back)
    return True


def drain(scene: Scene) -> bool:
    """An administrator drains a node, and puts it back to use."""
    node = f"NodeName={scene.draw.choice(scene.nodes)}"
    if not _ordered("scontrol", "update", node, "State=DRAIN", "Reason=chaos"):
        return False
    scene.later(scene.draw.uniform(5, 30), lambda: order("scontrol", "update", node, "State=RESUME"))
    return True


def controller(scene: Scene) -> bool:
    """slurmctld is killed, and comes back some seconds later."""
    number = Path(os.environ["SLURM_CONF"]).parents[1] / "pid" / "slurmctld.pid"
    if not number.exists():
        return False  # it is down already
    os.kill(int(number.read_text()), signal.SIGKILL)
    number.unlink()
    scene.later(scene.draw.uniform(*DOWN_SECONDS), lambda: order("slurmctld"))
    return True


def on_a_disk_of_its_own(folder: str) -> bool:
    """Gives the store's folder such a disk.  Returns whether that can be had here."""
    os.makedirs(folder, exist_ok=True)
    return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "chaos", folder]).returncode == 0


def full(scene: Scene) -> bool:
    """Not a byte is left."""
    filler = scene.store.root / FILLER
    if filler.exists() or not os.path.ismount(scene.store.root):
        return False
    try:
        with filler.open("wb") as file:
            while True:
                file.write(bytes(2**20))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return False
    scene.later(scene.draw.uniform(*FAULT_SECONDS), lambda: filler.unlink(missing_ok=True))
    return True


def read_only(scene: Scene) -> bool:
    """Nothing can be written; nothing may be open for writing when it begins."""
    if not os.path.ismount(scene.store.root) or (scene.store.root / FILLER).exists():
        return False
    if not _remounted(scene, "ro"):
        return False
    scene.later(scene.draw.uniform(*FAULT_SECONDS), lambda: _remounted(scene, "rw"))
    return True


def _remounted(scene: Scene, how: str) -> bool:
    words = ["mount", "-o", f"remount,{how}", str(scene.store.root)]
    return subprocess.run(words, capture_output=True).returncode == 0


def again(scene: Scene) -> bool:
    """The same command."""
    scene.submit()
    return True


def twice(scene: Scene) -> bool:
    """The same command twice at once."""
    scene.submit()
    scene.submit()
    return True


def overlap(scene: Scene) -> bool:
    """A command that asks for a part of the runs."""
    scene.submit(PART)
    return True


def submit_killed(scene: Scene) -> bool:
    """The command, killed at a random moment."""
    process = scene.submit()
    scene.later(scene.draw.uniform(0.5, 15.0), process.kill)
    return True


def resume(scene: Scene) -> bool:
    """`resume`."""
    scene.give("launch", "resume", scene.sweeps()[0], "--store", str(scene.store.root))
    return True


def cancel(scene: Scene) -> bool:
    """`cancel`; it is looked whether that was obeyed, and then the command is given again."""
    sweep = scene.sweeps()[0]
    before = set(scene.arrays(sweep))

    def ended(status: int, said: str) -> None:
        word = time.monotonic()

        def look() -> None:
            for pack, job in _still(scene, before).items():
                if job not in said and pack not in said:
                    late = time.monotonic() - word
                    scene.disobeyed.append(f"{job} holds {pack} {late:.0f} s after `cancel` ({status}): {said.strip()}")
            scene.submit()

        scene.later(OBEYED_SECONDS, look)

    scene.give("launch", "cancel", sweep, "--store", str(scene.store.root), then=ended)
    return True


def _still(scene: Scene, arrays: set[str]) -> dict[str, str]:
    """Pack → job, of those that these arrays hold and have touched since the word."""
    packs = {name.rpartition(".")[0] for name in scene.lease_names()}
    states = LeaseFiles(scene.store).states(packs, scene.lease_seconds)
    return {
        pack: f"{state.owner.job}_{state.owner.task}"
        for pack, state in states.items()
        if state.held and state.owner and state.owner.job in arrays and (state.age or 0.0) < OBEYED_SECONDS / 2
    }


ACTS: Mapping[str, Act] = {
    act.__name__: act
    for act in (
        kill,
        stop,
        requeue,
        storm,
        cancel_one,
        hold,
        preempt,
        node_loss,
        drain,
        controller,
        full,
        read_only,
        again,
        twice,
        overlap,
        submit_killed,
        resume,
        cancel,
    )
}
OFTEN = ("stop", "requeue", "preempt", "controller", "cancel")
"""Those that come twice in a deck."""
ATTEMPTS = 20
"""How often an act that needs a worker waits for one before the next is taken."""


class Deck:
    """Deals the acts in an order drawn from the scene's seed.  names: those that can be had here."""

    def __init__(self, scene: Scene, names: Sequence[str]) -> None:
        self.scene, self.names = scene, [*names, *(name for name in OFTEN if name in names)]
        self._cards: list[str] = []
        self._tried = 0

    def act(self) -> bool:
        """The next one.  Returns whether it hit."""
        self._cards = self._cards or self.scene.draw.permutation(self.names).tolist()
        name = self._cards[-1]
        hit = ACTS[name](self.scene)
        self._tried = 0 if hit else self._tried + 1
        if hit:
            self.scene.done[name] += 1
            print(f"{datetime.now():%H:%M:%S} act {self.scene.done.total()}: {name}", file=sys.stderr, flush=True)
        if hit or self._tried >= ATTEMPTS:
            self._cards.pop()
            self._tried = 0
        return hit
