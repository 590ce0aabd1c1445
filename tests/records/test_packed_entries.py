"""Entries that are held compressed are those of an array, in memory and in the log; damage is noticed."""

import sys

import numpy as np
import pytest

from plasticity_lab.records import packing
from plasticity_lab.records.bulk import Entries, as_tensors, bytes_of, filled_from
from plasticity_lab.records.bulk_log import GROWN, Log, append, bytes_to_write, read
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.packed_entries import BLOCK, PackedEntries

RUNS, ENVIRONMENTS, FRAME = 2, 3, (1, 6, 5)
COLUMNS = RUNS * ENVIRONMENTS


class Both:
    """The same frames in an array and compressed."""

    def __init__(self, capacity, threads=1):
        self.draw = np.random.default_rng(capacity)
        self.array = np.zeros((capacity, RUNS, ENVIRONMENTS, *FRAME), np.uint8)
        self.packed = PackedEntries(capacity, self.array.shape[1:], np.uint8, threads)

    def add(self, count):
        for number in range(self.packed.added, self.packed.added + count):
            frame = self.draw.integers(256, size=self.array.shape[1:]).astype(np.uint8)
            self.array[number % len(self.array)] = frame
            self.packed.put(number, frame)

    def bulk(self, packs):
        return {"frame": self.packed if packs else Entries(self.array, self.packed.added)}

    def is_same(self):
        """Whether the entries that are held have the same values, one after another and drawn."""
        numbers = self.packed.since(0)
        if not len(numbers):
            return True
        rows = np.arange(numbers.start, numbers.stop) % len(self.array)
        drawn = self.draw.integers(numbers.start, numbers.stop, 40)
        columns, found = self.draw.integers(COLUMNS, size=40), np.empty((40, *FRAME), np.uint8)
        self.packed.of(drawn, columns, found)
        wanted = self.array.reshape(len(self.array), COLUMNS, *FRAME)[drawn % len(self.array), columns]
        in_rows = (self.packed.in_rows() == self.array[: len(numbers)]).all()
        return in_rows and (found == wanted).all() and (self.packed.values_of(numbers) == self.array[rows]).all()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("capacity", [1, 7, 8, 9, 30])
def test_they_are_those_of_an_array(capacity, threads):
    both = Both(capacity, threads)
    for count in (0, 1, 3, 4, 1, 8, 20, 2, 64, 5):
        both.add(count)
        assert both.is_same(), both.packed.added


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("counts", [(3, 2, 6, 1, 30, 4), (16, 8), (70, 90), (5,)])
def test_a_log_comes_back_compressed_or_not(store, written, taken, counts):
    both, log = Both(25), None
    for count in counts:
        both.add(count)
        log = append(store, "pack", 0, both.bulk(written), log)
    again = Both(25)
    found = read(store, "pack", Log.of_json(log.as_json()), again.bulk(taken))
    assert found["frame"].added == both.packed.added
    if taken:
        assert found["frame"] is again.packed, "nothing is copied"
        again.array = both.array
    else:
        assert (again.array[: both.packed.filled] == both.array[: both.packed.filled]).all()
        again.packed = both.packed
    assert again.is_same()
    again.add(20)
    assert again.is_same()


def test_what_is_new_is_written_compressed_and_the_log_begins_anew(store):
    """Frames that are alike: the log takes a small part of the bytes, and at most GROWN times the memory."""
    values = PackedEntries(400, (1, 1, 1, 40, 40), np.uint8)
    frame, log, begun = np.random.default_rng(0).integers(256, size=values.shape).astype(np.uint8), None, 0
    for number in range(2000):
        values.put(number, frame)
        if number % 100 == 99:
            expected = bytes_to_write({"frame": values}, log)
            more = append(store, "pack", 0, {"frame": values}, log)
            new = [part for part in more.parts if log is None or part not in log.parts]
            assert sum(part.bytes for part in new) <= 1.1 * expected + 400
            begun += log is not None and not set(log.parts) <= set(more.parts)
            log = more
            if number >= values.capacity:
                assert log.bytes <= (GROWN + 0.1) * values.full_bytes
    assert values.full_bytes < values.nbytes / 7
    assert bytes_of({"frame": values}) == values.nbytes == 400 * 1600
    assert begun > 3
    assert bytes_to_write({"frame": values}, log) == 0


def test_they_keep_no_more_memory_than_their_compressed_bytes():
    """The package's own bytes have room for values that cannot be compressed."""
    blob = packing.packed(np.zeros(56448, np.uint8))
    assert sys.getsizeof(blob) < 200


@pytest.mark.parametrize("taken", [False, True])
def test_a_damaged_or_shortened_part_is_refused(store, taken):
    both = Both(25)
    both.add(30)
    log = append(store, "pack", 0, both.bulk(True), None)
    path = store.pack_folder("pack") / log.parts[0].file
    whole = path.read_bytes()
    draw = np.random.default_rng(3)
    for position in draw.integers(len(whole), size=150):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << draw.integers(8)
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile):
            read(store, "pack", log, Both(25).bulk(taken))
    path.write_bytes(whole[:-7])
    with pytest.raises(DamagedFile, match="bytes of the"):
        read(store, "pack", log, Both(25).bulk(taken))


@pytest.mark.parametrize(("saved", "taken"), [(False, True), (True, False), (True, True)])
def test_a_small_memory_in_a_checkpoint_comes_back_compressed_or_not(saved, taken):
    both, again = Both(13), Both(13)
    both.add(40)
    again.add(9)
    found = filled_from(again.bulk(taken), as_tensors(both.bulk(saved)))
    assert found["frame"].added == 40
    assert (found["frame"].in_rows() == both.array).all()
    other = {"frame": PackedEntries(13, (RUNS, ENVIRONMENTS, 1, 2, 2), np.uint8)}
    assert filled_from(other, as_tensors(both.bulk(saved))) is None


def test_without_the_package_a_compressed_log_says_how_to_get_it(store, monkeypatch):
    both = Both(25)
    both.add(BLOCK)
    log = append(store, "pack", 0, both.bulk(True), None)
    packing._codec.cache_clear()
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(packing.PackerMissing, match="pip install zstandard"):
        read(store, "pack", log, Both(25).bulk(False))
    monkeypatch.undo()
    packing._codec.cache_clear()
