"""A pack with a replay memory whose machine dies, or whose disk fails, at an operation on memory or checkpoint.

A worker trains some of it and is stopped, a second one goes on, with a checkpoint and its memory after every chunk. One
of them dies on the way; what is left is brought to its end, and must be the undisturbed run, to the bit.
"""

import logging
import os
import shutil
import signal

import pytest
import torch

from launch.work import patience
from plasticity_lab.records import bulk_log
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.agents.value.packs import BY_AGENT
from tests.helpers.crashing_disk import MODES, CrashingDisk, in_a_process
from tests.helpers.sweeps import after_looks, all_kept, never, planned, runs_of, trained, work

pytestmark = pytest.mark.slow

PACK = ("seed=0,1", "save_weights=final", "launch.workers=1")
WORDS = (*BY_AGENT["rainbow"], *PACK, "agent.epoch_steps=40", "benchmark.environment_steps=160", "agent.capacity=100")
MEMORY = ("replay_memory_mib=0", "replay_memory_minutes=0", "checkpoint_minutes=0.0001", "launch.lease_seconds=60")
LAST = 60
"""Checkpoints follow the clock, so that one more or less may be written: the last operations may not be reached."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("undisturbed") / "store")
    trained(store, *WORDS)
    return all_kept(store, runs_of(*WORDS))


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    monkeypatch.setattr(patience, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(patience, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(bulk_log, "GROWN", 0.6)  # so that these few entries make a log begin anew
    torch.set_num_threads(1)  # threads do not survive a fork


class Trial:
    """Each time a new store with the same plan."""

    def __init__(self, folder, *words):
        self.folder, self.words = folder, words
        self.store = Store(folder / "store")
        self.sweep = planned(self.store, *self.words).sweep
        shutil.copytree(self.store.root, folder / "planned")

    def crashed(self, at, mode, stems=("memory.", "checkpoint.")):
        """How the process ended in which two workers train, and how many operations it had come to."""
        shutil.rmtree(self.store.root)
        shutil.copytree(self.folder / "planned", self.store.root)
        counted = self.folder / "count"
        counted.write_text("")

        def train():
            disk = CrashingDisk(at, mode, stems)
            disk.install()
            work(self.store, self.sweep, "cpu", after_looks(3))
            work(self.store, self.sweep, "cpu", never)
            counted.write_text(str(disk.count))

        ended = in_a_process(train)
        return ended, int(counted.read_text() or 0)

    def rest(self):
        """All that the runs left behind, once somebody has brought the sweep to its end; and its flags."""
        for lease in self.store.leases_folder.iterdir():
            os.utime(lease, (10, 10))  # long ago
        planned(self.store, *self.words)
        assert work(self.store, self.sweep, "cpu", never)
        runs = runs_of(*self.words)
        assert list((self.store.root / "packs").iterdir()) == []
        flags = [read_record(self.store, run.id).get("flags", {}) for run in runs]
        return all_kept(self.store, runs), {name for each in flags for name, holds in each.items() if holds}


def holds(trial, undisturbed, at, mode, caplog):
    caplog.clear()
    ended, _ = trial.crashed(at, mode)
    assert ended == (0 if mode in ("full", "fault") else signal.SIGKILL), f"{mode} at {at}"
    kept, flags = trial.rest()
    if mode in ("full", "fault") and flags:
        # At the stop: there it may be tried only once, and by these settings no training may be lost for a memory.
        assert flags == {"memory_refilled"}
        return
    said = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert not said, "a file that had its name was lost"
    assert kept == undisturbed, f"{mode} at {at}"


@pytest.mark.parametrize("mode", MODES)
def test_at_every_third_operation(tmp_path, undisturbed, mode, caplog):
    trial = Trial(tmp_path, *WORDS, *MEMORY)
    _, count = trial.crashed(None, mode)
    assert count > 100
    for at in range(1, count - LAST, 3):
        holds(trial, undisturbed, at, mode, caplog)
