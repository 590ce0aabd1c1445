"""Leases: who claims which pack, keeps it, loses it and ends it; and the files that waiting workers open."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from launch.packs.leases import LostLease
from launch.packs.owner import Owner, is_dead_here, this_owner
from plasticity_lab.records.damage import object_of
from tests.helpers.leases import ANOTHER, ELSEWHERE, SECONDS, age, leases

ROOT = Path(__file__).parents[3]


def left_in(folder):
    return sorted(os.listdir(folder))


# Claims until nothing is left, prints what it got and ends every second pack.
CLAIM_ALL = """
import sys, time
from pathlib import Path
from launch.packs.leases import Leases
from launch.packs.owner import this_owner
from plasticity_lab.records.store import Store
store, count = Store(sys.argv[1]), int(sys.argv[2])
leases = Leases(store, 100, this_owner())
packs = [f"pack{number}" for number in range(count)]
print("ready", flush=True)
sys.stdin.readline()
while lease := leases.claim(packs):
    print(lease.pack, lease.epoch, flush=True)
    if int(lease.pack[4:]) % 2:
        assert lease.finish({"status": "done"})
sys.stdin.readline()
"""


def process(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_processes_that_race_claim_each_pack_once(store):
    count = 60
    racers = [process(CLAIM_ALL, store.root, count) for _ in range(3)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:  # go; the second line, with which they end, comes when all have stopped claiming
        racer.stdin.write("go\n")
        racer.stdin.flush()
    packs, deadline = [f"pack{number}" for number in range(count)], time.monotonic() + 60
    while len(leases(store).done(packs)) < count // 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert leases(store).claim(packs) is None
    claimed = [line for racer in racers for line in racer.communicate("end\n", timeout=60)[0].splitlines()]
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert sorted(claimed) == sorted(f"{pack} 0" for pack in packs)
    assert left_in(store.done_folder) == sorted(packs[1::2])
    assert left_in(store.leases_folder) == sorted(f"{pack}.0" for pack in packs[::2])


def test_packs_are_claimed_in_the_given_order(store):
    mine = leases(store)
    assert [mine.claim(["b", "a", "c"]).pack for _ in range(3)] == ["b", "a", "c"]
    assert mine.claim(["b", "a", "c"]) is None
    assert object_of(Owner, json.loads(store.lease("b", 0).read_text())) == ELSEWHERE


def test_a_live_lease_holds_until_it_is_stale(store):
    first = leases(store).claim(["a"])
    age(store, "a", 0, SECONDS - 5)
    assert leases(store, ANOTHER).claim(["a"]) is None
    age(store, "a", 0, SECONDS + 5)
    first.beat()
    assert leases(store, ANOTHER).claim(["a"]) is None
    age(store, "a", 0, SECONDS + 5)
    second = leases(store, ANOTHER).claim(["a"])
    assert (second.pack, second.epoch) == ("a", 1)
    assert object_of(Owner, json.loads(store.lease("a", 0).read_text())) == ELSEWHERE  # never rewritten


def test_whoever_was_overtaken_loses_and_ends_nothing(store):
    first = leases(store).claim(["a"])
    age(store, "a", 0, SECONDS + 5)
    second = leases(store, ANOTHER).claim(["a"])
    with pytest.raises(LostLease, match="process 1 on node7"):
        first.beat()
    with pytest.raises(LostLease):
        first.finish({"status": "done"})
    first.release()
    assert leases(store, ELSEWHERE).claim(["a"]) is None
    second.beat()
    assert leases(store).done(["a"]) == set()
    assert second.finish({"status": "done"})
    with pytest.raises(LostLease):  # its file is gone, with all the others of the pack
        first.beat()
    assert left_in(store.leases_folder) == []


def test_done_says_how_and_by_whom_and_the_first_to_finish_wins(store):
    lease = leases(store).claim(["a"])
    assert lease.finish({"status": "failed", "error": "out of memory"})
    wanted = {"status": "failed", "error": "out of memory", "epoch": 0, "owner": dataclasses.asdict(ELSEWHERE)}
    assert json.loads(store.done("a").read_text()) == wanted
    assert leases(store).done(["a", "b"]) == {"a"}
    lease = leases(store).claim(["a", "b"])
    assert lease.pack == "b"
    store.done("b").write_text("somebody's")
    assert lease.finish({"status": "done"}) is False
    assert store.done("b").read_text() == "somebody's"
    assert leases(store).claim(["a", "b"]) is None


def test_a_pack_that_ends_while_it_is_claimed_is_not_trained_again(store, monkeypatch):
    late = leases(store)
    monkeypatch.setattr(late, "done", lambda packs: set())  # a listing from before it ended
    leases(store).claim(["a"]).finish({})
    assert late.claim(["a"]) is None
    assert left_in(store.leases_folder) == []


def test_a_released_lease_is_free_at_once(store):
    first = leases(store).claim(["a"])
    first.release()
    assert leases(store).state(["a"])["a"].state == "waiting"
    assert leases(store, ANOTHER).claim(["a"]).epoch == 1
    with pytest.raises(LostLease):
        first.beat()


WAIT = """
import sys
from launch.packs.leases import Leases
from launch.packs.owner import this_owner
from plasticity_lab.records.store import Store
lease = Leases(Store(sys.argv[1]), 100, this_owner()).claim(["a"])
print(lease.epoch, flush=True)
sys.stdin.readline()
"""


def test_a_dead_process_of_this_host_is_overtaken_at_once_a_live_one_is_not(store):
    holder = process(WAIT, store.root)
    assert holder.stdout.readline() == "0\n"
    here = leases(store, this_owner())
    assert here.claim(["a"]) is None
    assert here.state(["a"])["a"].owner.pid == holder.pid
    holder.kill()
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)  # ended, but not collected yet by its parent
    assert here.state(["a"])["a"].state == "waiting"
    assert here.claim(["a"]).epoch == 1
    holder.communicate()
    assert here.claim(["a"]) is None


def test_state_tells_waiting_leased_and_done(store):
    mine = leases(store)
    for _ in range(3):
        mine.claim(["done", "live", "stale"])
    age(store, "stale", 0, SECONDS + 50)
    age(store, "live", 0, 20)
    (store.lease("done", 0)).touch()
    store.done("done").write_text("{}")
    (store.leases_folder / ".live.0.abc.tmp").write_text("being written")
    found = leases(store, ANOTHER).state(["done", "live", "stale", "new"])
    assert {pack: state.state for pack, state in found.items()} == {
        "done": "done",
        "live": "leased",
        "stale": "waiting",
        "new": "waiting",
    }
    assert [pack for pack, state in found.items() if state.held] == ["live"]
    assert found["live"].owner == ELSEWHERE
    assert found["live"].age == pytest.approx(20, abs=5)
    assert found["new"].owner is None


def test_a_lease_that_cannot_be_read_holds_until_it_is_stale(store, caplog):
    store.lease("a", 0).write_text("")
    assert leases(store).claim(["a"]) is None
    assert "a.0 is empty" in caplog.text
    age(store, "a", 0, SECONDS + 5)
    assert leases(store).claim(["a"]).epoch == 1


def test_a_holder_is_told_of_its_heir_by_the_server(store, monkeypatch):
    """Before a pack's records are written: over NFS this machine may remember that there was none."""
    first = leases(store).claim(["a"])
    age(store, "a", 0, SECONDS + 5)
    assert leases(store, ANOTHER).claim(["a"]).epoch == 1
    really, remembers = os.open, [True]

    def open_with_a_memory(path, flags, *mode, **options):
        if flags & os.O_CREAT:
            remembers.clear()
        if remembers and Path(path).name == "a.1":
            raise FileNotFoundError
        return really(path, flags, *mode, **options)

    monkeypatch.setattr(os, "open", open_with_a_memory)
    first.beat()
    with pytest.raises(LostLease):
        first.beat(surely=True)


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
    before = object_of(Owner, {name: value for name, value in dataclasses.asdict(first).items() if name != "cluster"})
    assert before.precedes(later), "a lease of an earlier version, which does not name the cluster"
    assert not ELSEWHERE.precedes(dataclasses.replace(ELSEWHERE, restart=1)), "processes without a job"
    assert object_of(Owner, dataclasses.asdict(ELSEWHERE) | {"colour": "red"}) == ELSEWHERE, (
        "a lease of a later version"
    )


def opened(monkeypatch):
    """The files that are opened or made from now on, but for listings."""
    found, really, built_in = [], os.open, open

    def counted(path, flags, *mode, **options):
        found.append(Path(path).name)
        return really(path, flags, *mode, **options)

    def read_bytes(path):
        found.append(path.name)
        with built_in(path, "rb") as file:
            return file.read()

    monkeypatch.setattr(os, "open", counted)
    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    monkeypatch.setattr(os, "fsync", lambda descriptor: found.append("fsync"))
    return found


def test_a_worker_that_waits_opens_no_lease_twice_before_it_can_have_run_out(store, monkeypatch):
    """Else 128 waiting workers open 128 leases each, and write a file, as often as they look."""
    packs = [f"pack{number}" for number in range(20)]
    holder, waiting = leases(store), leases(store, ANOTHER)
    held = [holder.claim(packs) for _ in packs]
    assert waiting.claim(packs) is None
    again = opened(monkeypatch)
    for _ in range(5):
        assert waiting.claim(packs) is None
    assert again == []
    held[3].finish({})
    assert waiting.claim(packs) is None
    assert waiting.left(packs) == [*packs[:3], *packs[4:]], "its end is found though nothing was listed but leases"
    assert len(again) < 20
    later = time.monotonic() + SECONDS / 2 + 1
    held[5].release()
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert waiting.claim(packs).pack == "pack5", "a pack that was given back is found at the latest by then"


def test_endings_are_not_listed_again_and_again(store, monkeypatch):
    """The folder that tells of them grows to one file for each pack of a store."""
    packs = [f"pack{number}" for number in range(50)]
    mine, other = leases(store), leases(store, ANOTHER)
    assert mine.done(packs) == set()
    for _ in range(40):
        other.claim(packs).finish({})
    listed, really = [], os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: listed.append(Path(folder).name) or really(folder))
    looked = opened(monkeypatch)
    assert [mine.claim(packs).pack for _ in range(3)] == packs[40:43]
    assert listed == ["leases", "done", "leases", "leases"]
    assert len([name for name in looked if name in packs]) < 25
