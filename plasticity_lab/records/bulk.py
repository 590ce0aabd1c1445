"""The large part of a learner's state, such as a replay memory: views of its arrays, never copies.

Entries that are held compressed are `PackedEntries`; they have the same methods.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.records.packed_entries import PackedEntries

Array = NDArray[Any]


@dataclass(frozen=True)
class Entries:
    """Entries of a ring: entry n, counted from 0, is in row n mod C, until entry n + C replaces it.

    values: (C, ...) on the host, entries first: the learner's array, or a view of it (`array.swapaxes(0, 1)` of one
    with the run axis first). added: the number of entries so far. An added entry does not change; values that change,
    such as priorities, belong into `Learner.state`.
    """

    values: Array
    added: int

    @property
    def capacity(self) -> int:
        """C, the capacity in entries."""
        return len(self.values)

    @property
    def filled(self) -> int:
        """The number of entries in the ring: the last ones."""
        return min(self.added, self.capacity)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an entry."""
        return self.values.shape[1:]

    @property
    def nbytes(self) -> int:
        """Bytes of all entries, filled or not."""
        return self.values.nbytes

    @property
    def full_bytes(self) -> int:
        """Bytes of all entries once the ring is full."""
        return self.values.nbytes

    @property
    def entry_bytes(self) -> int:
        """Bytes of one entry, for all runs of the pack together."""
        return self.values.nbytes // max(1, self.capacity)

    def since(self, number: int) -> range:
        """The numbers of the entries in the ring, from this one on."""
        return range(max(number, self.added - self.filled), self.added)

    def bytes_of(self, numbers: range) -> int:
        """Bytes of some entries."""
        return self.entry_bytes * len(numbers)

    def in_rows(self) -> Array:
        """The filled rows, (filled, ...); a view."""
        return self.values[: self.filled]

    def with_rows(self, values: Array, added: int) -> "Entries":
        """These arrays with the result of `in_rows`, after that number of entries."""
        self.values[: len(values)] = values
        return Entries(self.values, added)

    def put(self, number: int, entry: Array) -> None:
        """Writes an entry into its row."""
        self.values[number % self.capacity] = entry

    def rows(self, numbers: range, most_bytes: int) -> Iterator[Array]:
        """Views of the rows of some entries, in their order; each has at most `most_bytes`, or a single entry."""
        at_once = max(1, most_bytes // max(1, self.entry_bytes))
        at = numbers.start
        while at < numbers.stop:
            row = at % self.capacity
            count = min(at_once, numbers.stop - at, self.capacity - row)
            yield self.values[row : row + count]
            at += count


Bulk = Mapping[str, Entries | PackedEntries]
"""Name → entries; {} if a learner has no large state."""


def bytes_of(bulk: Bulk) -> int:
    """Bytes of all arrays, filled or not, and not compressed."""
    return sum(entries.nbytes for entries in bulk.values())


def as_tensors(bulk: Bulk) -> dict[str, dict[str, Any]]:
    """A copy of the filled entries, for a checkpoint; for small memories."""
    import torch

    return {
        name: {
            "added": entries.added,
            "filled": torch.from_numpy(np.ascontiguousarray(entries.in_rows())),
        }
        for name, entries in bulk.items()
    }


def filled_from(bulk: Bulk, kept: Mapping[str, Any]) -> Bulk | None:
    """Writes the result of `as_tensors` into a learner's arrays; None if it belongs to other arrays.

    bulk: the arrays of the learner that continues.
    """
    if bulk.keys() != kept.keys():
        return None
    for name, entries in bulk.items():
        there = kept[name].get("filled") if isinstance(kept[name], dict) else None
        if there is None or not fits(entries, kept[name]["added"], str(there.numpy().dtype), there.shape[1:]):
            return None
        if len(there) != min(kept[name]["added"], entries.capacity):
            return None
    return {
        name: entries.with_rows(kept[name]["filled"].numpy(), kept[name]["added"]) for name, entries in bulk.items()
    }


def fits(entries: Entries | PackedEntries, added: Any, dtype: str, shape: Sequence[int]) -> bool:
    """Whether entries of this type and shape fit into these rows."""
    return isinstance(added, int) and dtype == str(entries.dtype) and tuple(shape) == entries.shape
