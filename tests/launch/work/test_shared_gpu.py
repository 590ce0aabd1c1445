"""Workers know how many of them share a GPU, and their packs' memories take no more than their share."""

from types import SimpleNamespace

import pytest

from launch.launchers import local_workers
from launch.launchers.slurm import job
from launch.work import training, worker
from tests.helpers.sweeps import never, planned, work


def test_the_launcher_counts_the_workers_of_each_gpu(store, monkeypatch):
    plan, started = planned(store, "seed=0,1,2"), []
    ended = SimpleNamespace(poll=lambda: 0, pid=1, returncode=0)
    monkeypatch.setattr(local_workers, "_started", lambda module, words, **how: started.append(words) or ended)
    local_workers.run_workers(store, plan, plan.packs, ["cuda:0", "cuda:1", "cuda:0"])
    given = [(words[words.index("--device") + 1], words[words.index("--sharing") + 1]) for words in started]
    assert given == [("cuda:0", "2"), ("cuda:1", "1"), ("cuda:0", "2")]


def test_a_worker_tells_its_packs(store, monkeypatch):
    plan, told, usual = planned(store, "seed=0"), [], training.assembled
    monkeypatch.setattr(training, "assembled", lambda *how: told.append(how[-1]) or usual(*how))
    assert work(store, plan.sweep, "cpu", never, sharing=3)
    assert told == [3]
    made = []
    monkeypatch.setattr(worker, "prepare_process", lambda: None)
    monkeypatch.setattr(worker, "Worker", lambda *_, **how: made.append(how) or SimpleNamespace(work=lambda: True))
    assert worker.main(["--store", str(store.root), "--sweep", plan.sweep, "--sharing", "4"]) == 0
    assert made[0]["sharing"] == 4


@pytest.mark.parametrize(
    ("given", "gpus", "sharing"),
    [
        ({}, 1, 1),
        ({"SLURM_NTASKS_PER_NODE": "4"}, 1, 4),
        ({"SLURM_NTASKS_PER_NODE": "4"}, 2, 2),
        ({"SLURM_NTASKS_PER_NODE": "3"}, 2, 2),
        ({"SLURM_NTASKS_PER_NODE": "4", "SLURM_GPUS_PER_TASK": "1"}, 1, 1),
    ],
)
def test_tasks_of_a_slurm_job_share_its_gpus(monkeypatch, given, gpus, sharing):
    for name in ("SLURM_NTASKS_PER_NODE", "SLURM_GPUS_PER_TASK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert job._sharing(gpus) == sharing
