"""Cores and memory are what this process may use, which may be less than the machine has."""

import pytest

from launch.plan import device
from launch.plan.device import COMMAND_BYTES, WORKER_BYTES, allotted_cores, cores, memory_here, memory_of

MIB = 2**20


@pytest.mark.parametrize(("quota", "found"), [(None, 8), (0.5, 1), (1.5, 2), (3, 3), (64, 8)])
def test_half_a_core_is_one(monkeypatch, quota, found):
    monkeypatch.setattr(device, "allotted_cores", lambda: 8)
    monkeypatch.setattr(device, "cpu_quota", lambda: quota)
    assert cores() == found


def test_cores_are_at_most_those_that_the_process_may_run_on(monkeypatch):
    monkeypatch.setattr(device, "cpu_quota", lambda: None)
    assert cores() == allotted_cores()


def test_memory_without_a_limit_is_the_machines(monkeypatch):
    for limit in (None, 2**60):
        monkeypatch.setattr(device, "memory_limit", lambda limit=limit: limit)
        assert memory_here(1) == memory_of("cpu")
        assert memory_here(3) == memory_of("cpu") // 3


def test_of_a_limit_the_processes_themselves_take_a_part(monkeypatch):
    monkeypatch.setattr(device, "memory_limit", lambda: 1000 * MIB)
    assert memory_here(2) == (900 * MIB - COMMAND_BYTES) // 2 - WORKER_BYTES
    assert memory_here(9) == 0
