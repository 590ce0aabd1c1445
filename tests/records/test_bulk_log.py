"""The log of a replay memory: what is written comes back, and nothing else does."""

import os
import tracemalloc

import numpy as np
import pytest

from plasticity_lab.records import bulk_log
from plasticity_lab.records.bulk import Entries, as_tensors, bytes_of, filled_from
from plasticity_lab.records.bulk_log import Log, append, bytes_on_disk, bytes_to_write, read, tidy
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.files import StoreFault

RUNS, CAPACITY = 3, 10


class Ring:
    """A ring of frames with the run axis first, and one of rewards that is longer: entry n holds n, and the run."""

    def __init__(self):
        self.frames = np.full((RUNS, CAPACITY, 2, 2), 255, np.uint8)
        self.rewards = np.full((CAPACITY + 3, RUNS), -1.0)
        self.added = 0

    def add(self, count):
        for n in range(self.added, self.added + count):
            self.frames[:, n % CAPACITY] = np.arange(RUNS)[:, None, None] + 7 * n % 200
            self.rewards[n % len(self.rewards)] = n / 2
        self.added += count

    def bulk(self):
        return {"frames": Entries(self.frames.swapaxes(0, 1), self.added), "rewards": Entries(self.rewards, self.added)}


def came_back(ring, found, again):
    """Whether another ring has got all entries that the first one holds."""
    assert {name: entries.added for name, entries in found.items()} == {"frames": ring.added, "rewards": ring.added}
    for name, entries in ring.bulk().items():
        np.testing.assert_array_equal(found[name].values[: entries.filled], entries.values[: entries.filled])
        assert np.shares_memory(found[name].values, again.bulk()[name].values), "nothing is copied"


def read_again(store, log, pack="pack"):
    again = Ring()
    return again, read(store, pack, Log.of_json(log.as_json()), again.bulk())


@pytest.mark.parametrize("slice_bytes", [1, 8, 1 << 20])
def test_what_is_added_in_between_is_appended_and_the_ring_comes_back(store, monkeypatch, slice_bytes):
    monkeypatch.setattr(bulk_log, "SLICE_BYTES", slice_bytes)
    monkeypatch.setattr(bulk_log, "GROWN", 1000)
    ring, log, parts = Ring(), None, 0
    for count in (0, 4, 0, 5, 3, 9, 10, 25, 1):
        ring.add(count)
        log = append(store, "pack", 0, ring.bulk(), log)
        parts += count > 0
        assert len(log.parts) == parts
        again, found = read_again(store, log)
        came_back(ring, found, again)


def test_only_what_is_new_is_written(store):
    ring = Ring()
    ring.add(6)
    log = append(store, "pack", 0, ring.bulk(), None)
    ring.add(2)
    assert bytes_to_write(ring.bulk(), log) == 2 * RUNS * (4 + 8)
    more = append(store, "pack", 0, ring.bulk(), log)
    assert more.parts[:1] == log.parts
    assert more.bytes - log.bytes < 2 * RUNS * 12 + 400  # and the line that says what they are
    assert bytes_to_write(ring.bulk(), more) == 0
    assert append(store, "pack", 0, ring.bulk(), more) == more


def test_a_log_that_has_grown_begins_anew_and_the_disk_is_bounded(store, monkeypatch):
    ring, log, anew = Ring(), None, 0
    ring.frames = np.zeros((RUNS, CAPACITY, 40, 40), np.uint8)  # so that headers count for little
    for epoch in range(4):
        for _ in range(30):
            ring.add(3)
            before, log = log, append(store, "pack", epoch, ring.bulk(), log)
            anew += before is not None and log.parts[0] != before.parts[0]
            assert log.bytes <= bulk_log.GROWN * bytes_of(ring.bulk()) + 2_000
            tidy(store, "pack", epoch, log)
            assert bytes_on_disk(store, "pack") == log.bytes
    assert 20 < anew < 90
    again = Ring()
    again.frames = np.zeros_like(ring.frames)
    came_back(ring, read(store, "pack", log, again.bulk()), again)


def test_a_memory_that_was_emptied_begins_a_new_log(store):
    ring = Ring()
    ring.add(8)
    log = append(store, "pack", 0, ring.bulk(), None)
    fresh = Ring()
    fresh.add(2)
    later = append(store, "pack", 1, fresh.bulk(), log)
    assert len(later.parts) == 1
    again, found = read_again(store, later)
    came_back(fresh, found, again)


def test_a_checkpoint_before_keeps_its_memory_until_its_parts_are_tidied(store):
    """A kill between the two writes: the older checkpoint names parts that stand as they were."""
    ring = Ring()
    ring.add(8)
    log = append(store, "pack", 0, ring.bulk(), None)
    older, _ = read_again(store, log)
    ring.add(30)
    append(store, "pack", 0, ring.bulk(), log)
    again, _ = read_again(store, log)
    np.testing.assert_array_equal(again.frames, older.frames)


def cut(content):
    return content[:-1]


def flipped(content):
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


@pytest.mark.parametrize("damage", [cut, flipped, lambda _: b"", lambda content: b"?" * len(content), None])
def test_parts_that_are_not_what_was_written_are_named(store, damage):
    ring, log = Ring(), None
    for _ in range(2):
        ring.add(4)
        log = append(store, "pack", 0, ring.bulk(), log)
    path = store.memory_part("pack", 0, 1)
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DamagedFile, match=str(path)):
        read_again(store, log)


def test_another_learners_memory_is_not_read(store):
    ring = Ring()
    ring.add(4)
    log = append(store, "pack", 0, ring.bulk(), None)
    again = Ring()
    again.frames = again.frames.astype(np.float32)
    with pytest.raises(DamagedFile):
        read(store, "pack", log, again.bulk())
    with pytest.raises(DamagedFile):
        read(store, "pack", log, {"frames": Ring().bulk()["frames"]})
    assert filled_from(again.bulk(), as_tensors(ring.bulk())) is None


def test_tidying_leaves_what_a_successor_has_written(store):
    ring = Ring()
    ring.add(4)
    log = append(store, "pack", 2, ring.bulk(), None)
    for name in ("memory.1.0", "memory.2.7", "memory.3.0", ".memory.1.0.abc.tmp", "checkpoint.1", "memory.x"):
        (store.pack_folder("pack") / name).write_bytes(b"")
    tidy(store, "pack", 2, log)
    assert sorted(os.listdir(store.pack_folder("pack"))) == ["checkpoint.1", "memory.2.0", "memory.3.0", "memory.x"]


def test_a_full_disk_leaves_nothing_half_written(store, small_disk):
    full = type(store)(small_disk)
    large = {"frames": Entries(np.zeros((1000, 84, 84), np.uint8), 1000)}
    with pytest.raises(StoreFault):
        append(full, "pack", 0, large, None)
    assert os.listdir(full.pack_folder("pack")) == []


def test_nothing_is_copied_but_slices(store, monkeypatch):
    monkeypatch.setattr(bulk_log, "SLICE_BYTES", 1 << 16)
    frames = np.ones((4, 1000, 84, 84), np.uint8)  # 28 MB, the run axis first
    bulk = {"frames": Entries(frames.swapaxes(0, 1), 1500)}
    tracemalloc.start()
    log = append(store, "pack", 0, bulk, None)
    read(store, "pack", log, bulk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < frames.nbytes / 20


def test_small_ones_go_into_a_checkpoint_and_come_back():
    ring, again = Ring(), Ring()
    ring.add(14)
    came_back(ring, filled_from(again.bulk(), as_tensors(ring.bulk())), again)
    assert filled_from(Ring().bulk(), {}) is None
