"""The large part of what a learner keeps, such as a replay memory: arrays that are views of its own, never copies."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Entries:
    """Entries of a ring: entry n, counted from 0, lies in row n mod C, until entry n + C takes its place.

    values: (C, ...) on the host, entries first: the learner's own array, or a view of it (`array.swapaxes(0, 1)` of one
    with the run axis first). added: how many entries there have been. An entry does not change once it counts as added;
    what changes anywhere, such as priorities, belongs into `Learner.state`.
    """

    values: Array
    added: int

    @property
    def capacity(self) -> int:
        """C, the most entries that it holds."""
        return len(self.values)

    @property
    def filled(self) -> int:
        """How many entries it holds: the last ones."""
        return min(self.added, self.capacity)

    @property
    def entry_bytes(self) -> int:
        """Bytes of one entry, those of all runs of the pack together."""
        return self.values.nbytes // max(1, self.capacity)

    def since(self, number: int) -> range:
        """The numbers of the entries that it holds, from this one on."""
        return range(max(number, self.added - self.filled), self.added)

    def rows(self, numbers: range, most_bytes: int) -> Iterator[Array]:
        """Views of the rows of some entries, in their order, each of at most that many bytes (at least one entry)."""
        at_once = max(1, most_bytes // max(1, self.entry_bytes))
        at = numbers.start
        while at < numbers.stop:
            row = at % self.capacity
            count = min(at_once, numbers.stop - at, self.capacity - row)
            yield self.values[row : row + count]
            at += count


Bulk = Mapping[str, Entries]
"""Name → entries; {} where a learner keeps nothing large."""


def bytes_of(bulk: Bulk) -> int:
    """Bytes of all of it, filled or not."""
    return sum(entries.values.nbytes for entries in bulk.values())


def as_tensors(bulk: Bulk) -> dict[str, dict[str, Any]]:
    """A copy of what is filled, as a checkpoint holds it; for small ones."""
    import torch

    return {
        name: {
            "added": entries.added,
            "filled": torch.from_numpy(np.ascontiguousarray(entries.values[: entries.filled])),
        }
        for name, entries in bulk.items()
    }


def filled_from(bulk: Bulk, kept: Mapping[str, Any]) -> Bulk | None:
    """What `as_tensors` gave, written into a learner's own arrays; None where it is of other arrays.

    bulk: as the learner that is to go on gives it.
    """
    if bulk.keys() != kept.keys():
        return None
    for name, entries in bulk.items():
        there = kept[name].get("filled") if isinstance(kept[name], dict) else None
        if there is None or not fits(entries, kept[name]["added"], str(there.numpy().dtype), there.shape[1:]):
            return None
        if len(there) != min(kept[name]["added"], entries.capacity):
            return None
    for name, entries in bulk.items():
        entries.values[: len(kept[name]["filled"])] = kept[name]["filled"].numpy()
    return {name: Entries(entries.values, kept[name]["added"]) for name, entries in bulk.items()}


def fits(entries: Entries, added: Any, dtype: str, shape: Sequence[int]) -> bool:
    """Whether entries of this type and shape can lie in these rows."""
    return isinstance(added, int) and dtype == str(entries.values.dtype) and tuple(shape) == entries.values.shape[1:]
