"""A replay memory on the disk: a log in parts, each with the entries that were added since the part before it.

A checkpoint names the parts that belong to it, in their order, with sizes and checksums. A part is written beside its
place, in slices, synced and renamed, and never changed: whatever is interrupted, the checkpoint before still has its
own parts. When a log has grown past GROWN times the memory, a new one begins with all that is filled.

A part begins with a line of JSON: of each array its name, type, shape of an entry, the number of its first entry and
how many there are. The entries follow, array by array.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

import numpy as np

from plasticity_lab.records.bulk import Array, Bulk, Entries, bytes_of, fits
from plasticity_lab.records.damage import DamagedFile, write_file
from plasticity_lab.records.files import disk_errors, names
from plasticity_lab.records.store import Store

GROWN = 2.0
"""A log has at most this many times the bytes of the memory, so that appending costs little and the disk is bounded."""
SLICE_BYTES = 2**22
"""What is copied at a time where entries do not lie one behind the other."""
SYNC_BYTES = 2**26
"""How often a part is synced while it is written: else its speed would be that of the machine's memory."""
LONGEST_HEADER = 2**20
_LOST = "the replay memory of its pack begins empty"

Progress = Callable[[int, int], None]
"""Told how many bytes of how many are on the disk, while a part is written; what it raises ends that."""


@dataclass(frozen=True)
class Part:
    """file: its name in the pack's folder. bytes, crc32: of all of it."""

    file: str
    bytes: int
    crc32: int


@dataclass(frozen=True)
class Log:
    """parts: in the order in which they are read. added: name → how many entries there had been (see `Entries`)."""

    parts: tuple[Part, ...] = ()
    added: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As a checkpoint keeps it."""
        return {"parts": [asdict(part) for part in self.parts], "added": dict(self.added)}

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> "Log":
        """What `as_json` gave."""
        return Log(tuple(Part(**part) for part in value["parts"]), dict(value["added"]))

    @property
    def bytes(self) -> int:
        """Of all parts together."""
        return sum(part.bytes for part in self.parts)


def bytes_to_write(bulk: Bulk, before: Log | None) -> int:
    """How much `append` would write after that log."""
    whole = _begins_anew(bulk, before)
    return sum(
        entries.entry_bytes * len(entries.since(0 if whole or before is None else before.added[name]))
        for name, entries in bulk.items()
    )


def append(
    store: Store, pack: str, epoch: int, bulk: Bulk, before: Log | None, progress: Progress = lambda done, total: None
) -> Log:
    """Writes what was added since a log, and returns the log that holds all; None: nothing is written yet.

    It is on the disk then, and belongs to no checkpoint yet. epoch: of the lease; a worker that has lost its lease
    without knowing must not touch what its successor writes.  Raises StoreError; what `progress` raises.
    """
    whole = _begins_anew(bulk, before)
    earlier = Log() if whole or before is None else before
    new = {name: entries.since(earlier.added.get(name, 0)) for name, entries in bulk.items()}
    total = sum(bulk[name].entry_bytes * len(numbers) for name, numbers in new.items())
    added = {name: entries.added for name, entries in bulk.items()}
    if not total:
        return Log(earlier.parts, added)
    path = store.memory_part(pack, epoch, _next_number(store, pack, epoch))
    sink = _Sink(total, progress)
    write_file(path, lambda file: sink.write(file, bulk, new))
    return Log((*earlier.parts, Part(path.name, sink.bytes, sink.crc32)), added)


def read(store: Store, pack: str, log: Log, bulk: Bulk) -> Bulk:
    """Reads a log into a learner's own arrays, slice by slice.

    Raises DamagedFile where a part is missing, or not what was written, or of other arrays: these hold anything then.
    Raises StoreError if the disk does not answer.
    """
    if log.added.keys() != bulk.keys():
        raise DamagedFile(store.pack_folder(pack), "has a replay memory of other arrays", _LOST)
    for part in log.parts:
        path = store.pack_folder(pack) / part.file
        with disk_errors("read", path), contextlib.ExitStack() as opened:
            try:
                file = opened.enter_context(open(path, "rb"))
            except FileNotFoundError:
                raise DamagedFile(path, "is missing", _LOST) from None
            if fault := _fault_of(file, part, bulk):
                raise DamagedFile(path, fault, _LOST)
    return {name: Entries(entries.values, log.added[name]) for name, entries in bulk.items()}


def tidy(store: Store, pack: str, epoch: int, log: Log) -> None:
    """Removes parts of this lease epoch and of earlier ones that a log does not name, and parts half written.

    For after a checkpoint names the log. A file that resists is left; the end of the pack removes it.
    """
    named = {part.file for part in log.parts}
    with contextlib.suppress(OSError):
        for name in os.listdir(store.pack_folder(pack)):
            of = _numbers(store, name.removeprefix("."))
            if of is not None and of[0] <= epoch and name not in named:
                with contextlib.suppress(OSError):
                    (store.pack_folder(pack) / name).unlink()


def bytes_on_disk(store: Store, pack: str) -> int:
    """Bytes of the parts that lie in a pack's folder.  Raises StoreError."""
    found = 0
    for name in names(store.pack_folder(pack)):
        if _numbers(store, name) is not None:
            with contextlib.suppress(FileNotFoundError), disk_errors("read", store.pack_folder(pack)):
                found += (store.pack_folder(pack) / name).stat().st_size
    return found


class _Sink:
    """Writes a part's header and entries, and counts and checks what it writes."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.total, self.progress = total, progress
        self.bytes = self.crc32 = 0

    def write(self, file: BinaryIO, bulk: Bulk, new: Mapping[str, range]) -> None:
        self.bytes = self.crc32 = synced = 0
        header = [
            {
                "name": name,
                "dtype": str(bulk[name].values.dtype),
                "shape": list(bulk[name].values.shape[1:]),
                "first": numbers.start,
                "count": len(numbers),
            }
            for name, numbers in new.items()
        ]
        self._put(file, np.frombuffer(json.dumps({"format": 1, "arrays": header}).encode() + b"\n", np.uint8))
        begins = self.bytes
        for name, numbers in new.items():
            for rows in bulk[name].rows(numbers, SLICE_BYTES):
                self._put(file, _flat(np.ascontiguousarray(rows)))
                if self.bytes - synced >= SYNC_BYTES:
                    file.flush()
                    os.fsync(file.fileno())
                    synced = self.bytes
                    self.progress(self.bytes - begins, self.total)

    def _put(self, file: BinaryIO, content: Array) -> None:
        file.write(content.data)
        self.bytes += content.nbytes
        self.crc32 = zlib.crc32(content.data, self.crc32)


def _begins_anew(bulk: Bulk, before: Log | None) -> bool:
    """Whether all that is filled is written, in place of what was added since."""
    if before is None or before.added.keys() != bulk.keys():
        return True
    if any(entries.added < before.added[name] for name, entries in bulk.items()):
        return True  # it was emptied meanwhile
    new = sum(entries.entry_bytes * len(entries.since(before.added[name])) for name, entries in bulk.items())
    return new > 0 and before.bytes + new > GROWN * bytes_of(bulk)


def _fault_of(file: BinaryIO, part: Part, bulk: Bulk) -> str | None:
    """Reads a part into the arrays.  Returns what is wrong with it, if anything is."""
    size = os.fstat(file.fileno()).st_size
    if size != part.bytes:
        return f"has {size:,} bytes of the {part.bytes:,} that were written"
    line = file.readline(LONGEST_HEADER)
    arrays = _arrays_in(line, bulk)
    if arrays is None:
        return "does not say what it holds, or holds other arrays"
    crc32 = zlib.crc32(line)
    for name, numbers in arrays:
        for rows in bulk[name].rows(numbers, SLICE_BYTES):
            into = rows if rows.flags.c_contiguous else np.empty(rows.shape, rows.dtype)
            if file.readinto(_flat(into).data) != into.nbytes:  # type: ignore[attr-defined]
                return "is cut off"
            crc32 = zlib.crc32(_flat(into).data, crc32)
            if into is not rows:
                rows[...] = into
    return None if crc32 == part.crc32 and not file.read(1) else "does not have the checksum that was written"


def _arrays_in(line: bytes, bulk: Bulk) -> list[tuple[str, range]] | None:
    """The arrays of a part, each with the numbers of its entries; None where they are not those of a learner."""
    try:
        arrays = json.loads(line)["arrays"]
        found = [(each["name"], range(each["first"], each["first"] + each["count"])) for each in arrays]
        same = all(fits(bulk[each["name"]], each["count"], each["dtype"], each["shape"]) for each in arrays)
    except (ValueError, KeyError, TypeError):
        return None
    return found if same else None


def _flat(values: Array) -> Array:
    """The bytes of an array whose numbers lie one behind the other."""
    return values.reshape(-1).view(np.uint8)


def _numbers(store: Store, name: str) -> tuple[int, int] | None:
    """The epoch and the number of a part, or of one that is being written, by its file's name."""
    stem, *numbers = name.split(".")
    if stem != store.memory_part("", 0, 0).name.partition(".")[0] or len(numbers) < 2:
        return None
    return (int(numbers[0]), int(numbers[1])) if numbers[0].isdecimal() and numbers[1].isdecimal() else None


def _next_number(store: Store, pack: str, epoch: int) -> int:
    found = [of[1] for name in names(store.pack_folder(pack)) if (of := _numbers(store, name)) and of[0] == epoch]
    return max(found, default=-1) + 1
