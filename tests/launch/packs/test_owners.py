"""Owners of leases: which are dead here, and who inherits from whom."""

import dataclasses
import subprocess
import sys

from launch.packs.owner import Owner, is_dead_here, this_owner
from tests.helpers.leases import ELSEWHERE, leases


def test_who_is_dead_here():
    me = this_owner()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not is_dead_here(me)
    assert is_dead_here(dataclasses.replace(me, started="an earlier process of the same number"))
    assert is_dead_here(dataclasses.replace(me, pid=ended.pid))
    assert not is_dead_here(dataclasses.replace(me, host="elsewhere", pid=ended.pid))


def test_a_requeued_job_inherits_from_its_earlier_start_and_never_the_other_way(store, monkeypatch):
    for name, value in {"SLURM_JOB_ID": "61", "SLURM_ARRAY_JOB_ID": "60", "SLURM_ARRAY_TASK_ID": "3"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SLURM_RESTART_COUNT", raising=False)
    first = dataclasses.replace(this_owner(), host="node1")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    second = dataclasses.replace(this_owner(), host="node2")
    assert (first.job, first.task, first.restart, second.restart) == ("60", "3", 0, 1)
    assert leases(store, first).claim(["a"]).epoch == 0
    assert leases(store, dataclasses.replace(second, task="4")).claim(["a"]) is None
    assert leases(store, second).claim(["a"]).epoch == 1
    assert leases(store, first).claim(["a"]) is None
    assert leases(store, second).claim(["a"]) is None


def test_a_job_of_another_cluster_inherits_nothing(store, monkeypatch):
    for name, value in {"SLURM_JOB_ID": "60", "SLURM_CLUSTER_NAME": "north", "SLURM_RESTART_COUNT": "0"}.items():
        monkeypatch.setenv(name, value)
    first = dataclasses.replace(this_owner(), host="node1")
    assert first.cluster == "north"
    later = dataclasses.replace(first, host="node2", restart=1)
    assert leases(store, first).claim(["a"]).epoch == 0
    assert leases(store, dataclasses.replace(later, cluster="south")).claim(["a"]) is None
    assert leases(store, later).claim(["a"]).epoch == 1
    before = Owner.from_json({name: value for name, value in first.as_json().items() if name != "cluster"})
    assert before.precedes(later), "a lease of an earlier version, which does not name the cluster"


def test_processes_without_a_job_inherit_nothing():
    assert not ELSEWHERE.precedes(dataclasses.replace(ELSEWHERE, restart=1))


def test_a_lease_file_of_a_later_version_is_understood():
    assert Owner.from_json(ELSEWHERE.as_json() | {"colour": "red"}) == ELSEWHERE
