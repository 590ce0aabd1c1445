"""What chaos does to the workers of a sweep on the one-machine Slurm, each act as a cluster would do it."""

import contextlib
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from launch.packs.leases import Leases
from launch.packs.owner import Owner, this_owner
from plasticity_lab.records.files import names
from plasticity_lab.records.store import Store
from tests.helpers.slurm_jobs import bring_back, lose, order, push_out

DECK = ("kill", "preempt", "preempt", "requeue", "requeue", "stop", "node_loss")
"""Shuffled and dealt again and again. What is killed never comes back: the one act of which there must be few."""
PUSHER_SECONDS = 3
AWAY_SECONDS = (2.0, 45.0)
"""A node without slurmd is taken for lost after some 15 seconds; one that is back before has only been silent."""


class Acts:
    """Disturbs the workers that train packs of a store; `done` counts by kind what it did.

    lease_seconds: how long a lease holds; what is stopped stays so for longer. draw: decides what, and to whom.
    """

    def __init__(self, store: Store, lease_seconds: float, draw: np.random.Generator) -> None:
        self.done: Counter[str] = Counter()
        self._leases, self._draw = Leases(store, lease_seconds, this_owner()), draw
        self._deck: list[str] = []
        self._nodes = order("sinfo", "--noheader", "--partition=cpu", "--Node", "--format=%N").split()
        self._undo: dict[Callable[[], None], float] = {}

    def act(self) -> bool:
        """The next act of the deck.  Returns whether it hit; not if it is meant for a worker and none trains."""
        self._deck = self._deck or self._draw.permutation(DECK).tolist()
        kind, node = self._deck[-1], str(self._draw.choice(self._nodes))
        if kind in ("kill", "stop", "requeue"):
            training = self._training()
            if not training:
                return False
            worker = training[self._draw.integers(len(training))]
        with contextlib.suppress(ProcessLookupError, subprocess.CalledProcessError):
            match kind:
                case "kill":
                    os.kill(worker.pid, signal.SIGKILL)
                case "stop":
                    os.kill(worker.pid, signal.SIGSTOP)
                    self._later(1.5 * self._leases.seconds, lambda: os.kill(worker.pid, signal.SIGCONT))
                case "requeue":
                    order("scontrol", "requeue", f"{worker.job}_{worker.task}")
                case "preempt":
                    push_out(f"--nodelist={node}", seconds=PUSHER_SECONDS)
                case "node_loss":
                    if len(self._nodes) == 1:
                        return False
                    lose(node)
                    self._nodes.remove(node)
                    self._later(self._draw.uniform(*AWAY_SECONDS), lambda: self._back(node))
            self.done[kind] += 1
            self._deck.pop()
            return True
        return False

    def undo(self, everything: bool = False) -> None:
        """Lets go on what was stopped, and brings back the nodes, where it is time; or all of them."""
        for undo, due in list(self._undo.items()):
            if everything or time.monotonic() > due:
                del self._undo[undo]
                with contextlib.suppress(ProcessLookupError):
                    undo()

    def _training(self) -> list[Owner]:
        """The workers that have a pack in hand, stopped ones too."""
        packs = {name.rpartition(".")[0] for name in names(self._leases.store.leases_folder)}
        states = self._leases.state(packs).values()
        return sorted({state.owner for state in states if state.held and state.owner}, key=lambda owner: owner.pid)

    def _later(self, seconds: float, undo: Callable[[], None]) -> None:
        self._undo[undo] = time.monotonic() + seconds

    def _back(self, node: str) -> None:
        bring_back(node)
        self._nodes.append(node)
