"""What happens to the cluster: jobs that push others out, nodes lost and drained, slurmctld killed."""

import os
import signal
import subprocess
from pathlib import Path

from tests.helpers.slurm_jobs import bring_back, lose, order, push_out
from tests.launch.launchers.slurm.chaos.scene import Scene

PUSHER_SECONDS = 3
AWAY_SECONDS = (2.0, 45.0)
"""A node without slurmd is taken for lost after some 15 seconds; one that is back before has only been silent."""
DOWN_SECONDS = (3.0, 25.0)


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
    try:
        order("scontrol", "update", node, "State=DRAIN", "Reason=chaos")
    except subprocess.CalledProcessError:
        return False
    scene.later(scene.draw.uniform(5, 30), lambda: order("scontrol", "update", node, "State=RESUME") and None)
    return True


def controller(scene: Scene) -> bool:
    """slurmctld is killed, and comes back some seconds later."""
    number = Path(os.environ["SLURM_CONF"]).parents[1] / "pid" / "slurmctld.pid"
    if not number.exists():
        return False  # it is down already
    os.kill(int(number.read_text()), signal.SIGKILL)
    number.unlink()
    scene.later(scene.draw.uniform(*DOWN_SECONDS), lambda: order("slurmctld") and None)
    return True
