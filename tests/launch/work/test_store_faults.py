"""A store that is full, read-only or away for a while: the worker keeps what it has, and goes on when it is back."""

import contextlib
import logging
import os
import subprocess
import threading
import time

import pytest

from launch.packs.leases import Leases
from launch.packs.owner import Owner, this_owner
from launch.work import patience
from launch.work.patience import Heartbeat, Patience, Stopped, fault_of
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import all_kept, ended_packs, never, planned, runs_of, work

pytestmark = pytest.mark.sample(4)

WORDS = ("seed=0,1", "launch.workers=1", "checkpoint_minutes=0.0001", "launch.lease_seconds=60")


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch):
    monkeypatch.setattr(patience, "FIRST_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(patience, "LOOK_SECONDS", 0.02)


@pytest.fixture(params=["full", "read-only"])
def faulty(request, small_disk):
    """A store on a disk that can be made faulty, and worked on again."""
    store = Store(small_disk / "store")

    class Disk:
        def fail(self):
            if request.param == "full":
                with contextlib.suppress(OSError), open(small_disk / "ballast", "wb", buffering=0) as ballast:
                    while ballast.write(bytes(4096)):
                        pass
            else:
                remount("ro")

        def work_again(self):
            if request.param == "full":
                (small_disk / "ballast").unlink(missing_ok=True)
            else:
                remount("rw")

    def remount(how):
        subprocess.run(["mount", "-o", f"remount,{how}", small_disk], check=True)

    yield store, Disk()
    remount("rw")


def given_up(store):
    """As if the worker that has a pack were long gone."""
    for lease in store.leases_folder.iterdir():
        os.utime(lease, (10, 10))


def half_written(store):
    return [path for path in store.root.rglob("*") if path.name.startswith(".")]


@pytest.mark.parametrize("look", [0, 1, 3])
def test_a_fault_while_it_starts_trains_or_writes_records_changes_nothing(faulty, undisturbed, caplog, look):
    """look: 0 before it starts, 1 while it trains, 3 just before it writes its records."""
    store, disk = faulty
    plan = planned(store, *WORDS)
    looks = 0

    def fails():
        disk.fail()
        threading.Timer(1.0, disk.work_again).start()

    def stop():
        nonlocal looks
        looks += 1
        if looks == look + 1 > 1:  # the first is before the claim
            fails()
        return False

    began = time.monotonic()
    if look == 0:
        fails()
    assert work(store, plan.sweep, "cpu", stop)
    assert time.monotonic() - began > 1
    assert all_kept(store, runs_of(*WORDS)) == undisturbed(*WORDS)
    assert [pack["status"] for pack in ended_packs(store)] == ["done"]
    assert half_written(store) == []
    assert look == 0 or all(said in caplog.text for said in ("0:30:00", "The store works again"))


def test_one_that_is_to_stop_leaves_at_once_and_blames_nobody(faulty):
    store, disk = faulty
    plan = planned(store, *WORDS, "launch.lease_seconds=2")
    looks, told = 0, 0.0

    def stop():
        nonlocal looks, told
        looks += 1
        if looks == 3:
            disk.fail()
        if looks == 5:
            told = time.monotonic()
        return looks >= 5

    work(store, plan.sweep, "cpu", stop)
    assert time.monotonic() - told < 10
    disk.work_again()
    assert ended_packs(store) == []
    assert read_record(store, plan.asked[0]) is None
    given_up(store)
    assert work(store, plan.sweep, "cpu", never)
    assert [pack["status"] for pack in ended_packs(store)] == ["done"]


def test_a_fault_that_stays_is_the_end_of_the_worker_and_not_of_the_run(faulty, monkeypatch):
    monkeypatch.setattr(patience, "LONGEST_FAULT_SECONDS", 0.5)
    store, disk = faulty
    plan = planned(store, *WORDS, "launch.lease_seconds=2")
    looks = 0

    def stop():
        nonlocal looks
        looks += 1
        if looks == 4:
            disk.fail()
        return False

    with pytest.raises(StoreFault):
        work(store, plan.sweep, "cpu", stop)
    assert "Workers keep their packs" in fault_of(store)
    disk.work_again()
    assert fault_of(store) == ""
    given_up(store)
    assert work(store, plan.sweep, "cpu", never)
    assert [pack["status"] for pack in ended_packs(store)] == ["done"]


def test_pauses_grow_and_end_when_it_is_to_stop_or_loses_its_lease(monkeypatch, caplog):
    monkeypatch.setattr(patience, "FIRST_PAUSE_SECONDS", 1.0)
    now, tries = [0.0], []
    monkeypatch.setattr(patience.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(patience.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))

    def fails():
        tries.append(round(now[0]))
        raise StoreFault("The disk is full.")

    with pytest.raises(StoreFault):
        Patience(never).until_done("records", fails)
    assert tries[:9] == [0, 1, 3, 7, 15, 31, 63, 123, 183]
    assert 1800 <= tries[-1] < 1900
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    with pytest.raises(Stopped):
        Patience(lambda: True).until_done("records", fails)

    def lost():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Patience(never, meanwhile=lost).until_done("records", fails)
    trying = Patience(never)
    tries.clear()
    assert not trying.tried("checkpoint", fails)
    assert not trying.tried("checkpoint", fails), "before its pause is over"
    now[0] += 1
    assert not trying.tried("checkpoint", fails)
    assert len(tries) == 2
    assert trying.tried("progress", lambda: None), "a small file may still fit"


@pytest.mark.parametrize("faulty", ["read-only"], indirect=True)  # of a full disk, a file's time can be changed
def test_a_lease_is_touched_again_when_the_store_works_again(faulty):
    store, disk = faulty
    store.prepare()
    lease = Leases(store, 4, this_owner()).claim(["pack"])
    heartbeat = Heartbeat(lease, 4)
    with heartbeat.beating():
        disk.fail()
        time.sleep(1)
        heartbeat.alive()
        disk.work_again()
        time.sleep(3.5)
        heartbeat.alive()
        assert Leases(store, 4, Owner("elsewhere", 1)).claim(["pack"]) is None


def test_failures_are_counted_once_though_the_store_failed_between_two_of_them(store, monkeypatch):
    from launch.work import recording

    plan = planned(store, *WORDS)
    (pack,) = plan.packs
    lease = Leases(store, 100, this_owner()).claim([pack.id])
    really, written = recording.write_record, []

    def write_record(store, record):
        written.append(record["run"])
        if len(written) == 2:
            raise StoreFault("The disk is full.")
        really(store, record)

    monkeypatch.setattr(recording, "write_record", write_record)

    def leave():
        recording.leave_failures(store, pack, plan.runs_of(pack), lease, "it broke", "it broke")

    Patience(never).until_done("failure", leave)
    assert [read_record(store, run)["provenance"]["failures"] for run in pack.runs] == [1, 1]
