"""The last entries of a ring, held compressed: eight consecutive entries of a column at a time.

Consecutive frames of a game are nearly equal, so that eight of them take little more than one. The newest entries wait
uncompressed until there are eight. The values are the same as in an array.

Legend: C entries, K runs, N environments of each, K·N columns, R requested values.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.records.packing import packed, unpacked, unpacked_together

Array = NDArray[Any]
BLOCK = 8
"""Entries in a block. Sixteen save a fifth, and take twice the time to read five of them."""
SIZE = np.dtype("<u4")
LONGEST = 2**16
"""A block has at most this many bytes more than its values."""

Read = Callable[[int], bytes]
"""Number of bytes → the next bytes of a file."""


Gather = Callable[[Sequence[Array], Array, NDArray[np.int64], NDArray[np.int64], Array], None]
"""(blocks, counts, rows, at, out): out[at[r]] = block[rows[r]], with counts[0] rows of the first block, and so on."""


class PackedEntries:
    """A ring of C entries (K, N, ...), like `Entries` without an array: entry n is held until entry n + C is added.

    shape: the shape of an entry. threads: the number of threads that unpack blocks.
    """

    def __init__(self, capacity: int, shape: Sequence[int], dtype: Any, threads: int = 1) -> None:
        self.capacity, self.shape, self.dtype = capacity, tuple(shape), np.dtype(dtype)
        self.added, self.threads = 0, threads
        """The number of entries so far, and the number of threads that unpack blocks."""
        self._columns, self._value = prod(shape[:2]), tuple(shape[2:])
        self._slots = capacity // BLOCK + 2  # the unfinished block, and one that is held in part
        self._open = np.zeros((self._columns, BLOCK, *self._value), self.dtype)
        self.clear()

    def clear(self) -> None:
        """Removes all entries."""
        self.added = 0
        self._blobs: list[bytes] = [b""] * (self._slots * self._columns)
        self._numbers: list[int | None] = [None] * self._slots  # the block of each slot
        self._opened = 0  # the number of the unfinished block
        self._open[...] = 0
        self._unpacked = dict[int, Array]()

    @property
    def filled(self) -> int:
        """The number of entries in the ring: the last ones."""
        return min(self.added, self.capacity)

    @property
    def entry_bytes(self) -> int:
        """Bytes of one entry, not compressed."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all entries, not compressed, filled or not."""
        return self.capacity * self.entry_bytes

    @property
    def full_bytes(self) -> int:
        """About the bytes of all entries, compressed, once the ring is full: as many for each as now."""
        filled = self.filled
        return self.bytes_of(range(self.added - filled, self.added)) * self.capacity // filled if filled else 0

    def put(self, number: int, entry: Array) -> None:
        """Adds an entry (K, N, ...). Numbers rise one by one, except after entries that are held no longer."""
        block, row = divmod(number, BLOCK)
        self._opened = block
        if self._is_kept(block):  # the same numbers again, after it was cleared elsewhere
            self._numbers[block % self._slots] = None
        self._open[:, row] = entry.reshape(self._columns, *self._value)
        self.added = number + 1
        if row + 1 == BLOCK:
            self._keep(block, [packed(values) for values in self._open])

    def of(
        self, numbers: NDArray[np.int64], columns: NDArray[np.int64], out: Array, gather: Gather | None = None
    ) -> None:
        """Writes the values of entries (R,) in columns (R,) into out (R, ...); any values for entries not held.

        gather: copies the rows of blocks, see `Gather`; None: NumPy does.
        The next call finds these blocks unpacked: a batch and its following observations share most of them.
        """
        blocks, rows = np.divmod(numbers, BLOCK)
        keys = blocks * self._columns + columns
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        bounds = [0, *(np.flatnonzero(np.diff(ordered)) + 1).tolist(), len(order)]
        keys = ordered[bounds[:-1]].tolist() if len(order) else []
        self._unpack_all([key for key in keys if key not in self._unpacked])
        used, read = dict[int, Array](), list[Array]()
        for first, last in pairwise(bounds):
            if first == last:
                continue
            key = int(ordered[first])
            block, column = divmod(key, self._columns)
            values = self._unpacked.get(key)
            if values is None:
                values = self._block(block, column)
            if block != self._opened:
                used[key] = values
            read.append(values)
            if gather is None:
                out[order[first:last]] = values[rows[order[first:last]]]
        if gather is not None and read:
            gather(read, np.diff(bounds), rows[order], order, out)
        self._unpacked = used

    def values_of(self, numbers: range) -> Array:
        """Some consecutive entries, (R, K, N, ...)."""
        found = np.empty((len(numbers), self._columns, *self._value), self.dtype)
        for block, rows in _blocks(numbers):
            first = block * BLOCK + rows.start - numbers.start
            for column in range(self._columns):
                found[first : first + len(rows), column] = self._block(block, column)[rows.start : rows.stop]
        return found.reshape(len(numbers), *self.shape)

    def in_rows(self) -> Array:
        """The filled rows of an array with these entries, (filled, K, N, ...): entry n in row n mod C."""
        numbers = self.since(0)
        found = np.empty((self.filled, *self.shape), self.dtype)
        found[np.arange(numbers.start, numbers.stop) % self.capacity] = self.values_of(numbers)
        return found

    def with_rows(self, values: Array, added: int) -> "PackedEntries":
        """These entries, replaced by the result of `in_rows` after that number of entries."""
        self.clear()
        for number in range(added - len(values), added):
            self.put(number, values[number % self.capacity])
        return self

    def since(self, number: int) -> range:
        """The numbers of the entries in the ring, from this one on."""
        return range(max(number, self.added - self.filled), self.added)

    def bytes_of(self, numbers: range) -> int:
        """About the bytes that `pieces` gives: entries of unfinished blocks count as they are."""
        found, of_value = 0, self.entry_bytes // self._columns
        for block, rows in _blocks(numbers):
            if self._is_kept(block):
                sizes = [len(self._blobs[self._at(block, column)]) + SIZE.itemsize for column in range(self._columns)]
                found += sum(sizes) * len(rows) // BLOCK
            else:
                found += len(rows) * self._columns * of_value
        return found

    def pieces(self, numbers: range) -> Iterator[bytes]:
        """Entries as bytes for `take`: for each block, the sizes of its columns, then its columns."""
        for block, rows in _blocks(numbers):
            if len(rows) == BLOCK and self._is_kept(block):
                blobs = [self._blobs[self._at(block, column)] for column in range(self._columns)]
            else:
                values = [self._block(block, column)[rows.start : rows.stop] for column in range(self._columns)]
                blobs = [packed(np.ascontiguousarray(each)) for each in values]
            yield np.array([len(blob) for blob in blobs], SIZE).tobytes() + b"".join(blobs)

    def take(self, numbers: range, read: Read) -> None:
        """Adds the entries of `pieces`.  Raises NotUnpacked if the bytes are damaged; errors of `read`."""
        for block, rows in _blocks(numbers):
            blobs = self._blobs_in(read, len(rows))
            if len(rows) == BLOCK:
                self._keep(block, blobs)
                self._opened = block
                self.added = (block + 1) * BLOCK
            else:
                for number, entry in zip(_numbers_of(block, rows), self._entries_in(blobs, len(rows)), strict=True):
                    self.put(number, entry)

    def unpack(self, numbers: range, read: Read) -> Iterator[tuple[range, Array]]:
        """The entries of `pieces`, block by block, with their numbers: (R, K, N, ...)."""
        for block, rows in _blocks(numbers):
            yield _numbers_of(block, rows), self._entries_in(self._blobs_in(read, len(rows)), len(rows))

    def _unpack_all(self, keys: Sequence[int]) -> None:
        """Unpacks the finished blocks of these keys together."""
        places = [(key, *divmod(key, self._columns)) for key in keys]
        kept = [(key, self._blobs[self._at(block, column)]) for key, block, column in places if self._is_kept(block)]
        if not kept:
            return
        names, blobs = zip(*kept, strict=True)
        for key, values in zip(names, unpacked_together(blobs, self._open[0].nbytes, self.threads), strict=True):
            self._unpacked[key] = np.frombuffer(values, self.dtype).reshape(BLOCK, *self._value)

    def _blobs_in(self, read: Read, rows: int) -> list[bytes]:
        most = rows * self.entry_bytes // self._columns + LONGEST
        sizes = np.frombuffer(read(SIZE.itemsize * self._columns), SIZE).astype(np.int64)
        return [read(min(int(size), most)) for size in sizes]

    def _entries_in(self, blobs: Sequence[bytes], rows: int) -> Array:
        size = rows * self.entry_bytes // self._columns
        columns = [np.frombuffer(unpacked(blob, size), self.dtype).reshape(rows, *self._value) for blob in blobs]
        return np.stack(columns, axis=1).reshape(rows, *self.shape)

    def _keep(self, block: int, blobs: Sequence[bytes]) -> None:
        self._numbers[block % self._slots] = block
        self._blobs[self._at(block, 0) : self._at(block, 0) + self._columns] = blobs

    def _at(self, block: int, column: int) -> int:
        return block % self._slots * self._columns + column

    def _is_kept(self, block: int) -> bool:
        return self._numbers[block % self._slots] == block

    def _block(self, block: int, column: int) -> Array:
        """All entries of a block in a column, (BLOCK, ...); only for reading."""
        if self._is_kept(block):
            values = unpacked(self._blobs[self._at(block, column)], self._open[0].nbytes)
            return np.frombuffer(values, self.dtype).reshape(BLOCK, *self._value)
        return self._open[column] if block == self._opened else np.zeros((BLOCK, *self._value), self.dtype)


def _blocks(numbers: range) -> Iterator[tuple[int, range]]:
    """The blocks of entries with these numbers, and of each the rows that belong to them."""
    at = numbers.start
    while at < numbers.stop:
        block, row = divmod(at, BLOCK)
        count = min(BLOCK - row, numbers.stop - at)
        yield block, range(row, row + count)
        at += count


def _numbers_of(block: int, rows: range) -> range:
    return range(block * BLOCK + rows.start, block * BLOCK + rows.stop)
