"""Cores and memory are what this process may use, which may be less than the machine has."""

import os

import pytest

from launch.plan import device
from launch.plan.device import (
    COMMAND_BYTES,
    MPS,
    WORKER_BYTES,
    allotted_cores,
    cores,
    memory_here,
    memory_of,
    mps_runs,
    workers_to_share,
)
from plasticity_lab.process.control_groups import cpu_quota, memory_limit

MIB = 2**20


def test_cores_are_at_most_those_that_the_process_may_run_on_and_half_a_core_is_one(monkeypatch):
    monkeypatch.setattr(device, "cpu_quota", lambda: None)
    assert cores() == allotted_cores()
    monkeypatch.setattr(device, "allotted_cores", lambda: 8)
    for quota, count in ((None, 8), (0.5, 1), (1.5, 2), (3, 3), (64, 8)):
        monkeypatch.setattr(device, "cpu_quota", lambda quota=quota: quota)
        assert cores() == count


def test_workers_share_a_gpu_by_cores_if_mps_runs(monkeypatch, tmp_path):
    monkeypatch.setenv(MPS, str(tmp_path))
    monkeypatch.setattr(device, "cores", lambda: 16)
    written = tmp_path / "nvidia-cuda-mps-control.pid"
    assert not mps_runs()
    for content, runs in ((f"{os.getpid()}\n", True), ("999999999", False), ("", False)):
        written.write_text(content)
        assert mps_runs() == runs
        assert workers_to_share(2) == (4 if runs else 1)
    written.write_text(str(os.getpid()))
    assert [workers_to_share(gpus) for gpus in (1, 8, 16, 32)] == [4, 2, 1, 1]


def test_memory_is_the_machines_or_what_a_limit_leaves_after_the_processes_themselves(monkeypatch):
    for limit in (None, 2**60):
        monkeypatch.setattr(device, "memory_limit", lambda limit=limit: limit)
        assert memory_here(1) == memory_of("cpu")
        assert memory_here(3) == memory_of("cpu") // 3
    monkeypatch.setattr(device, "memory_limit", lambda: 1000 * MIB)
    assert memory_here(2) == (900 * MIB - COMMAND_BYTES) // 2 - WORKER_BYTES
    assert memory_here(9) == 0


@pytest.fixture
def groups(tmp_path):
    """Makes a tree of control groups → what is read of it: cores and bytes.  own: as /proc/self/cgroup has it."""

    def make(own, files):
        for name, content in files.items():
            path = tmp_path / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")
        (tmp_path / "own").write_text(own)
        where = (tmp_path / "tree", tmp_path / "own")
        return cpu_quota(*where), memory_limit(*where)

    return make


def test_version_2_takes_the_least_of_all_groups_above(groups):
    files = {"cpu.max": "50000 100000", "memory.max": 640 * MIB, "memory.high": "max"}
    assert groups("0::/\n", files) == (0.5, 640 * MIB), "in a container"
    files = {
        "cpu.max": "max 100000",
        "memory.max": "max",
        "pod/cpu.max": "150000 100000",
        "pod/memory.max": 700 * MIB,
        "pod/box/cpu.max": "max 100000",
        "pod/box/memory.max": "max",
        "pod/box/memory.high": 800 * MIB,
    }
    assert groups("0::/pod/box\n", files) == (1.5, 700 * MIB)


@pytest.mark.parametrize("folder", ["", "docker/abc/"])
def test_version_1_whether_the_group_is_seen_below_its_own_path_or_at_the_top(groups, folder):
    files = {
        f"cpu,cpuacct/{folder}cpu.cfs_quota_us": 200000,
        f"cpu,cpuacct/{folder}cpu.cfs_period_us": 100000,
        f"memory/{folder}memory.limit_in_bytes": 512 * MIB,
    }
    assert groups("4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n", files) == (2.0, 512 * MIB)


def test_version_1_says_what_groups_allow_that_are_not_seen(groups):
    files = {
        "memory/memory.limit_in_bytes": 9223372036854771712,
        "memory/memory.stat": f"cache 1\nhierarchical_memory_limit {300 * MIB}",
    }
    assert groups("4:memory:/\n", files) == (None, 300 * MIB)


def test_without_limits(groups):
    files = {
        "cpu/cpu.cfs_quota_us": -1,
        "cpu/cpu.cfs_period_us": 100000,
        "memory/memory.limit_in_bytes": 9223372036854771712,
        "cpu.max": "max 100000",
        "memory.max": "max",
    }
    assert groups("4:memory:/\n2:cpu:/\n0::/\n", files) == (None, None)
    assert groups("", {}) == (None, None)
    assert groups("nonsense\n0::/\n", {"cpu.max": "", "memory.max": "much"}) == (None, None)
