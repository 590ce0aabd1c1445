"""What the acts of chaos share: the sweep that they disturb, what is to be put right, and what they have seen."""

import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from launch.packs.leases import Leases
from launch.packs.owner import Owner, this_owner
from launch.packs.submissions import submissions_of
from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import names
from plasticity_lab.records.store import Store
from tests.helpers.slurm_jobs import order
from tests.helpers.sweeps import OFTEN, SMOKE, said_last

Act = Callable[["Scene"], bool]
"""Disturbs the sweep.  Returns whether it hit; not where it needs a worker that trains, and none does."""


@dataclass
class Child:
    """A command given along the way. then: called when it has ended."""

    process: subprocess.Popen[str]
    then: Callable[[int, str], None] | None = None


@dataclass
class Scene:
    """words: the command of the sweep. lease_seconds: how long a lease holds. draw: decides what is done, and to whom.

    nodes: those that are up. done: what was done, by kind. disobeyed: what went on although it was cancelled.
    """

    store: Store
    words: tuple[str, ...]
    lease_seconds: float
    draw: np.random.Generator
    done: Counter[str] = field(default_factory=Counter)
    disobeyed: list[str] = field(default_factory=list)
    children: list[Child] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nodes = order("sinfo", "--noheader", "--partition=cpu", "--Node", "--format=%N").split()
        self._leases = Leases(self.store, self.lease_seconds, this_owner())
        self._undo: list[tuple[float, Callable[[], object]]] = []

    def later(self, seconds: float, undo: Callable[[], object]) -> None:
        """Has something put right after that many seconds."""
        self._undo.append((time.monotonic() + seconds, undo))

    def put_right(self, everything: bool = False) -> None:
        """Puts right what is due, or all; and hears what the commands that have ended say."""
        now = time.monotonic()
        due = [each for each in self._undo if everything or each[0] < now]
        self._undo = [each for each in self._undo if each not in due]
        for _, undo in due:
            with contextlib.suppress(ProcessLookupError, subprocess.CalledProcessError):
                undo()
        for child in list(self.children):
            if child.process.poll() is not None:
                self.children.remove(child)
                said = child.process.communicate()[1]
                if child.then is not None:
                    child.then(child.process.returncode, said)

    def give(self, *words: str, then: Callable[[int, str], None] | None = None) -> subprocess.Popen[str]:
        """Starts one of our commands, as a user at a login node would, and does not wait for it."""
        command = [sys.executable, "-m", *words]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)
        self.children.append(Child(process, then))
        return process

    def submit(self, *more: str) -> subprocess.Popen[str]:
        """Gives the sweep's command, with other words after its own."""
        words = said_last(*SMOKE, *OFTEN, f"store={self.store.root}", *self.words, *more)
        return self.give("plasticity_lab.main", *words)

    def training(self) -> list[Owner]:
        """The workers that hold packs, also those that are stopped; none where the store cannot be read."""
        try:
            packs = {name.rpartition(".")[0] for name in self.lease_names()}
            states = self._leases.state(packs).values()
        except StoreError:
            return []
        found = {state.owner for state in states if state.held and state.owner and state.owner.job}
        return sorted(found, key=lambda owner: owner.pid)

    def lease_names(self) -> list[str]:
        """The names of all leases."""
        return names(self.store.leases_folder)

    def one_training(self) -> Owner | None:
        """One of them."""
        training = self.training()
        return training[self.draw.integers(len(training))] if training else None

    def sweeps(self) -> list[str]:
        """The sweeps of the store, the disturbed one first."""
        return sorted(names(self.store.root / "sweeps"), key=lambda sweep: self.store.plan(sweep).stat().st_ctime)

    def arrays(self, sweep: str | None = None) -> list[str]:
        """The ids of the jobs that the store knows, of a sweep or of all."""
        sweeps = self.sweeps() if sweep is None else [sweep]
        found = [each.job for name in sweeps for each in submissions_of(self.store, name, [])]
        return [job for job in found if job is not None]
