"""Workers that are killed on one pack again and again, as its command sees them."""

import os

import pytest

from launch.launchers import local_workers
from launch.launchers.local_workers import Killed
from launch.packs.leases import Leases
from launch.packs.owner import Owner, this_owner


@pytest.fixture
def held(store):
    """Makes a process of this machine hold a pack, which is dead soon → its number."""
    store.prepare()

    def hold(pack, pid):
        lease = Leases(store, 100, Owner(this_owner().host, pid, started="then")).claim([pack])
        os.utime(store.lease(pack, lease.epoch), (1, 1))
        return pid

    return hold


def test_the_second_that_is_killed_on_a_pack_is_replaced_and_then_all_are(store, held, monkeypatch):
    monkeypatch.setattr(local_workers, "limited_memory", lambda: 640 * 2**20)
    first, second, other = held("pack", 71), held("pack", 72), held("another", 73)
    command = Killed(store, 100)
    assert command.calls_for_another(other) == ""
    assert Killed(store, 100).calls_for_another(first) == ""
    why = command.calls_for_another(second)
    assert all(words in why for words in ("2 workers", "SIGKILL", "pack", "640 MiB"))
    assert "another" in command.calls_for_another(other)


def test_one_that_held_no_pack_is_not_replaced(store, held):
    assert held("pack", 71)
    assert Killed(store, 100).calls_for_another(99) == ""
