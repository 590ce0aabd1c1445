"""A pack with a replay memory that is stopped, killed, out of time or without its files: equal, or counted."""

import math
import os

import numpy as np
import pytest

from launch.packs.sweep import state_of
from launch.work.replay_memory import ReplayMemory
from plasticity_lab.records import bulk_log
from plasticity_lab.records.bulk import Entries
from plasticity_lab.records.checkpoint import load_checkpoint
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.plan import read_plan
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.agents.value.packs import SMALL
from tests.helpers.sweeps import after_looks, all_kept, never, planned, resolved, runs_of, trained, work

pytestmark = pytest.mark.sample(2)

LENGTH = ("benchmark.environment_steps=256", "agent.epoch_steps=64", "agent.capacity=600")
WORDS = (*SMALL, *LENGTH, "seed=0,1", "save_weights=final", "launch.workers=1", "launch.lease_seconds=60")
COMPRESSED = "replay_memory_compressed=always"
REFILLED = {"unstable": False, "memory_refilled": True}
LARGE = (*WORDS, "replay_memory_mib=0")
ONLY_WHEN_STOPPED = (*LARGE, "replay_memory_minutes=null", "checkpoint_minutes=0.0001")


class Killed(BaseException):
    pass


def killed_after(looks):
    """A `stop` in which the worker dies, as by SIGKILL: nothing is written any more."""
    asked = 0

    def stop():
        nonlocal asked
        asked += 1
        if asked > looks:
            raise Killed
        return False

    return stop


def killed(store, words, looks):
    plan = planned(store, *words)
    with pytest.raises(Killed):
        work(store, plan.sweep, "cpu", killed_after(looks))
    for lease in store.leases_folder.iterdir():
        os.utime(lease, (10, 10))  # long ago
    return plan


def refills(store, words):
    records = [read_record(store, run.id) for run in runs_of(*words)]
    return [(record["provenance"].get("memory_refills"), record.get("flags", {})) for record in records]


def ended(store, words):
    plan = planned(store, *words)
    assert work(store, plan.sweep, "cpu", never)
    assert list((store.root / "packs").iterdir()) == [], "nothing of the memory stays"
    return all_kept(store, runs_of(*words))


def parts_of(store, pack):
    return sorted(path.name for path in store.pack_folder(pack).iterdir() if path.name.startswith("memory."))


@pytest.mark.parametrize(
    "words",
    [WORDS, LARGE, ONLY_WHEN_STOPPED, (*WORDS, COMPRESSED), (*LARGE, COMPRESSED)],
    ids=["small", "large", "when stopped", "small, compressed", "large, compressed"],
)
def test_stopped_again_and_again_it_ends_with_the_undisturbed_numbers(store, undisturbed, words):
    for looks in (3, 2, 3):
        plan = planned(store, *words)
        work(store, plan.sweep, "cpu", after_looks(looks))
        is_small = "replay_memory_mib=0" not in words
        assert bool(parts_of(store, plan.packs[0].id)) is not is_small
        assert ("bulk" in load_checkpoint(store, plan.packs[0].id)) is is_small
    assert ended(store, words) == undisturbed(*WORDS)
    assert {count for count, _ in refills(store, words)} == {None}


def test_killed_it_goes_back_to_the_checkpoint_that_has_its_memory(store, undisturbed):
    (pack,) = killed(store, (*LARGE, "replay_memory_minutes=0", "checkpoint_minutes=0.0001"), 5).packs
    assert load_checkpoint(store, pack.id)["journal"]["steps"] > 0
    assert len(parts_of(store, pack.id)) > 1, "it is appended to"
    assert ended(store, LARGE) == undisturbed(*WORDS)
    assert {count for count, _ in refills(store, LARGE)} == {None}


@pytest.mark.parametrize("setting", ["always", "never"])
def test_a_log_written_one_way_is_read_the_other_way(store, undisturbed, setting):
    """As by an older version, or before and after the package was installed."""
    other = {"always": "never", "never": "always"}[setting]
    memory = (*LARGE, "replay_memory_minutes=0", "checkpoint_minutes=0.0001")
    (pack,) = killed(store, (*memory, f"replay_memory_compressed={setting}"), 5).packs
    header, _, _ = (store.pack_folder(pack.id) / parts_of(store, pack.id)[0]).read_bytes().partition(b"\n")
    assert (b"packed" in header) is (setting == "always")
    assert ended(store, (*LARGE, f"replay_memory_compressed={other}")) == undisturbed(*WORDS)
    assert {count for count, _ in refills(store, LARGE)} == {None}


def test_between_two_writes_there_are_no_checkpoints_without_the_memory(store, undisturbed):
    (pack,) = killed(store, (*LARGE, "checkpoint_minutes=0.0001"), 6).packs
    first = load_checkpoint(store, pack.id)
    assert first["journal"]["steps"] == first["memory"]["added"]["frame"] < 4 * 64
    assert ended(store, LARGE) == undisturbed(*WORDS)


def test_killed_without_its_memory_it_goes_on_with_an_empty_one_and_the_record_says_so(store, undisturbed, caplog):
    plan = killed(store, ONLY_WHEN_STOPPED, 5)
    (pack,) = plan.packs
    checkpoint = load_checkpoint(store, pack.id)
    assert checkpoint["memory"] is None
    step = checkpoint["journal"]["steps"]
    planned(store, *ONLY_WHEN_STOPPED)
    work(store, plan.sweep, "cpu", after_looks(2))
    assert "begins empty" in caplog.text
    state = state_of(store, read_plan(store, plan.sweep))
    assert set(state.flagged["memory_refilled"]) == set(plan.asked)
    assert state.memory_bytes > 0
    assert ended(store, ONLY_WHEN_STOPPED) != undisturbed(*WORDS)
    assert refills(store, ONLY_WHEN_STOPPED) == [([step], REFILLED)] * 2
    assert set(state_of(store, read_plan(store, plan.sweep)).flagged["memory_refilled"]) == set(plan.asked)


@pytest.mark.parametrize("how", ["missing", "cut"])
def test_a_memory_that_is_damaged_is_lost_and_counted(store, how, caplog):
    plan = trained(store, *LARGE, stop=after_looks(4))
    (pack,) = plan.packs
    path = store.pack_folder(pack.id) / parts_of(store, pack.id)[-1]
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-5])
    ended(store, LARGE)
    assert str(path) in caplog.text
    assert all(len(count) == 1 and flags == REFILLED for count, flags in refills(store, LARGE))


def test_a_small_memory_goes_on_as_a_large_one_and_back(store, undisturbed):
    for words in (WORDS, LARGE, WORDS):
        work(store, planned(store, *words).sweep, "cpu", after_looks(3))
    assert ended(store, LARGE) == undisturbed(*WORDS)


class Sizes:
    """A memory of some bytes a look, with a clock and a disk of its own."""

    def __init__(self, monkeypatch, store, minutes=30.0, left=math.inf, speed=1e9):
        self.now, self.left = 1000.0, left
        monkeypatch.setattr("launch.work.replay_memory.time.monotonic", lambda: self.now)
        monkeypatch.setattr(bulk_log, "SYNC_BYTES", 1000)
        monkeypatch.setattr(bulk_log, "SLICE_BYTES", 1000)

        class Lease:
            pack, epoch = "pack", 0

            def beat(self, surely=False):
                pass

        update = {"replay_memory_mib": 0.0, "replay_memory_minutes": minutes}
        settings = resolved("seed=0").settings.model_copy(update=update)
        self.memory = ReplayMemory(store, Lease(), settings, lambda: self.left)
        self.values, self.added, self.speed = np.zeros((100, 1000), np.uint8), 0, speed
        really = bulk_log._Sink._put

        def put(sink, file, content):
            self.now += len(content) / self.speed
            self.left -= len(content) / self.speed
            really(sink, file, content)

        monkeypatch.setattr(bulk_log._Sink, "_put", put)

    def kept(self, minutes, added=10, stopping=False):
        """What becomes of the memory at a checkpoint, that many minutes and entries later."""
        self.now += 60 * minutes
        self.added += added
        content = self.memory.to_keep({"x": Entries(self.values, self.added)}, stopping)
        if content is None:
            return "none"
        self.memory.is_kept(content)
        return "without" if content["memory"] is None else content["memory"]["added"]["x"]


def test_it_is_written_when_that_is_worth_it_and_when_it_is_stopped(store, monkeypatch):
    found = Sizes(monkeypatch, store)
    assert [found.kept(minutes) for minutes in (0, 10, 10, 11, 29)] == [10, "none", "none", 40, "none"]
    assert found.kept(0, stopping=True) == 60


def test_the_store_holds_twice_the_memory_at_most(store, monkeypatch):
    found = Sizes(monkeypatch, store)
    for _ in range(12):
        assert found.kept(31, added=30) == found.added
        assert bulk_log.bytes_on_disk(store, "pack") < 2 * found.values.nbytes + 2_000


def test_it_is_left_where_the_notice_is_too_short(store, monkeypatch, caplog):
    """10 kB a second: what 20 s are enough for is not known before it is tried, and is known afterwards."""
    found = Sizes(monkeypatch, store, speed=1e3)
    found.kept(0, added=0)
    found.left = 20.0
    assert found.kept(10, added=50, stopping=True) == "none", "going back loses ten minutes, which is little"
    assert "goes back" in caplog.text
    assert 10 < found.left < 20, "it was noticed on the way"
    left, found.left = found.left, 12.0
    assert left > 0
    assert found.kept(25, added=0, stopping=True) == "without", "more would be lost than the memory is worth"
    assert "empty" in caplog.text
    assert found.left == 12.0, "it was known before"
    found.left = math.inf
    assert found.kept(0, stopping=True) == 60
    only = Sizes(monkeypatch, Store(store.root / "other"), minutes=None, speed=1e3)
    assert only.kept(0) == "without"
    only.left = 7.0
    assert only.kept(1, added=50, stopping=True) == "without"


def test_a_full_disk_keeps_the_checkpoint_before(store, monkeypatch):
    found = Sizes(monkeypatch, store)
    found.kept(0)

    def full(*given):
        raise StoreFault("The disk is full.")

    monkeypatch.setattr("launch.work.replay_memory.append", full)
    with pytest.raises(StoreFault):
        found.kept(31)
    found.now -= 60 * 31
    assert found.kept(5, stopping=True) == "none"
