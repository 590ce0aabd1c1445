"""A replay memory on the disk: a log in parts, each with the entries that were added since the part before it.

A checkpoint names its parts in their order, with sizes and checksums. A part is written to a temporary file, in slices,
synced and renamed, and never changed: after any interruption the earlier checkpoint still has its parts. When a log has
grown past GROWN times the memory, a new one begins with all filled entries.

A part begins with a line of JSON: for each array its name, type, shape of an entry, the number of its first entry and
the number of entries, and `packed` if they are compressed. The entries follow, array by array. Entries can be read
into arrays that hold them the other way.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

import numpy as np

from plasticity_lab.records.bulk import Bulk, Entries, fits
from plasticity_lab.records.damage import DamagedFile, write_file
from plasticity_lab.records.files import disk_errors, names
from plasticity_lab.records.packed_entries import BLOCK, PackedEntries
from plasticity_lab.records.packing import CODEC, NotUnpacked
from plasticity_lab.records.part_source import CutOff, Source, flat
from plasticity_lab.records.store import Store

GROWN = 2.0
"""A log has at most this many times the bytes of the memory: appending is cheap, and the disk use is bounded."""
PACKED = {"codec": CODEC, "entries": BLOCK}
"""How entries are compressed. Parts of another kind are refused."""
SLICE_BYTES = 2**22
"""The bytes copied at a time if entries are not contiguous."""
SYNC_BYTES = 2**26
"""Bytes between two syncs of a part while it is written: otherwise progress would show the speed of the page cache."""
LONGEST_HEADER = 2**20
_LOST = "the replay memory of its pack begins empty"

Progress = Callable[[int, int], None]
"""Called with the bytes on the disk and their total while a part is written; an exception ends the writing."""


@dataclass(frozen=True)
class Part:
    """A part of a log.  file: its name in the pack's folder. bytes, crc32: size and checksum of the whole file."""

    file: str
    bytes: int
    crc32: int


@dataclass(frozen=True)
class Log:
    """parts: in the order of reading. added: name → the number of entries so far (see `Entries`)."""

    parts: tuple[Part, ...] = ()
    added: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The log as a checkpoint stores it."""
        return {"parts": [asdict(part) for part in self.parts], "added": dict(self.added)}

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> "Log":
        """The log from the result of `as_json`."""
        return Log(tuple(Part(**part) for part in value["parts"]), dict(value["added"]))

    @property
    def bytes(self) -> int:
        """The bytes of all parts together."""
        return sum(part.bytes for part in self.parts)


def bytes_to_write(bulk: Bulk, before: Log | None) -> int:
    """The bytes that `append` would write after that log."""
    return _bytes_of(bulk, _new_entries(bulk, before)[1])


def append(
    store: Store, pack: str, epoch: int, bulk: Bulk, before: Log | None, progress: Progress = lambda done, total: None
) -> Log:
    """Writes the entries that were added after a log, and returns the log of all entries.

    before: the earlier log; None if nothing is written yet. epoch: the lease epoch, so that a worker with a lost lease
    cannot change files of its successor. On return the entries are on the disk, and no checkpoint names them yet.
    Raises StoreError; errors of `progress`.
    """
    earlier, new = _new_entries(bulk, before)
    total = _bytes_of(bulk, new)
    added = {name: entries.added for name, entries in bulk.items()}
    if not total:
        return Log(earlier.parts, added)
    numbers = [
        part[1] for name in names(store.pack_folder(pack)) if (part := _numbers(store, name)) and part[0] == epoch
    ]
    path = store.memory_part(pack, epoch, max(numbers, default=-1) + 1)
    sink = _Sink(total, progress)
    write_file(path, lambda file: sink.write(file, bulk, new))
    return Log((*earlier.parts, Part(path.name, sink.bytes, sink.crc32)), added)


def read(store: Store, pack: str, log: Log, bulk: Bulk) -> Bulk:
    """Reads a log into a learner's arrays, slice by slice.

    Raises DamagedFile if a part is missing, damaged, or belongs to other arrays; then the arrays have undefined
    content. Raises StoreError if the disk does not answer.
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
    return {
        name: entries if isinstance(entries, PackedEntries) else Entries(entries.values, log.added[name])
        for name, entries in bulk.items()
    }


def tidy(store: Store, pack: str, epoch: int, log: Log) -> None:
    """Removes parts of this lease epoch and of earlier ones that a log does not name, and unfinished parts.

    Call it after a checkpoint names the log. A file that cannot be removed stays until the pack ends.
    """
    named = {part.file for part in log.parts}
    with contextlib.suppress(OSError):
        for name in os.listdir(store.pack_folder(pack)):
            of = _numbers(store, name.removeprefix("."))
            if of is not None and of[0] <= epoch and name not in named:
                with contextlib.suppress(OSError):
                    (store.pack_folder(pack) / name).unlink()


def bytes_on_disk(store: Store, pack: str) -> int:
    """Bytes of the parts in a pack's folder.  Raises StoreError."""
    found = 0
    for name in names(store.pack_folder(pack)):
        if _numbers(store, name) is not None:
            with contextlib.suppress(FileNotFoundError), disk_errors("read", store.pack_folder(pack)):
                found += (store.pack_folder(pack) / name).stat().st_size
    return found


class _Sink:
    """Writes a part's header and entries, with their number of bytes and checksum."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.total, self.progress = total, progress
        self.bytes = self.crc32 = 0

    def write(self, file: BinaryIO, bulk: Bulk, new: Mapping[str, range]) -> None:
        self.bytes = self.crc32 = synced = 0
        header = [
            {
                "name": name,
                "dtype": str(bulk[name].dtype),
                "shape": list(bulk[name].shape),
                "first": numbers.start,
                "count": len(numbers),
                **({"packed": PACKED} if isinstance(bulk[name], PackedEntries) else {}),
            }
            for name, numbers in new.items()
        ]
        self._put(file, json.dumps({"format": 1, "arrays": header}).encode() + b"\n")
        begins = self.bytes
        for name, numbers in new.items():
            for piece in _pieces(bulk[name], numbers):
                self._put(file, piece)
                if self.bytes - synced >= SYNC_BYTES:
                    file.flush()
                    os.fsync(file.fileno())
                    synced = self.bytes
                    self.progress(self.bytes - begins, self.total)

    def _put(self, file: BinaryIO, content: bytes | memoryview) -> None:
        file.write(content)
        self.bytes += len(content)
        self.crc32 = zlib.crc32(content, self.crc32)


def _pieces(entries: Entries | PackedEntries, numbers: range) -> Iterator[bytes | memoryview]:
    if isinstance(entries, PackedEntries):
        yield from entries.pieces(numbers)
    else:
        for rows in entries.rows(numbers, SLICE_BYTES):
            yield flat(np.ascontiguousarray(rows)).data


def _new_entries(bulk: Bulk, before: Log | None) -> tuple[Log, dict[str, range]]:
    """The log that is continued, and the numbers of the entries after it: an empty log and all entries for a new one.

    A new log begins if the arrays differ, if the memory was emptied, or if the log would grow past `GROWN`.
    """
    same = before is not None and before.added.keys() == bulk.keys()
    if before is not None and same and all(entries.added >= before.added[name] for name, entries in bulk.items()):
        new = {name: entries.since(before.added[name]) for name, entries in bulk.items()}
        size = _bytes_of(bulk, new)
        if not size or before.bytes + size <= GROWN * sum(entries.full_bytes for entries in bulk.values()):
            return before, new
    return Log(), {name: entries.since(0) for name, entries in bulk.items()}


def _bytes_of(bulk: Bulk, numbers: Mapping[str, range]) -> int:
    return sum(bulk[name].bytes_of(of_array) for name, of_array in numbers.items())


def _fault_of(file: BinaryIO, part: Part, bulk: Bulk) -> str | None:
    """Reads a part into the arrays.  Returns its fault, if it has one."""
    size = os.fstat(file.fileno()).st_size
    if size != part.bytes:
        return f"has {size:,} bytes of the {part.bytes:,} that were written"
    line = file.readline(LONGEST_HEADER)
    arrays = _arrays_in(line, bulk)
    if arrays is None:
        return "does not name its arrays, or holds other arrays"
    source = Source(file, zlib.crc32(line))
    try:
        for name, numbers, is_packed in arrays:
            _take(bulk[name], numbers, is_packed, source)
    except CutOff:
        return "is cut off"
    except NotUnpacked as error:
        return f"cannot be read ({error})"
    return None if source.crc32 == part.crc32 and not file.read(1) else "does not have the checksum that was written"


def _take(entries: Entries | PackedEntries, numbers: range, is_packed: bool, source: Source) -> None:
    """Reads entries into arrays, compressed or not.  Raises CutOff, NotUnpacked, PackerMissing."""
    if isinstance(entries, PackedEntries):
        if is_packed:
            return entries.take(numbers, source.read)
        for number in numbers:
            values = np.frombuffer(source.read(entries.entry_bytes), entries.dtype)
            entries.put(number, values.reshape(entries.shape))
    elif is_packed:
        for some, values in PackedEntries(1, entries.shape, entries.dtype).unpack(numbers, source.read):
            for number, value in zip(some, values, strict=True):
                entries.put(number, value)
    else:
        for rows in entries.rows(numbers, SLICE_BYTES):
            source.read_into(rows)


def _arrays_in(line: bytes, bulk: Bulk) -> list[tuple[str, range, bool]] | None:
    """The arrays of a part, each with the numbers of its entries, and whether these are compressed; None if they are
    not the learner's arrays.
    """
    try:
        arrays = json.loads(line)["arrays"]
        found = [
            (each["name"], range(each["first"], each["first"] + each["count"]), "packed" in each) for each in arrays
        ]
        same = all(each.get("packed", PACKED) == PACKED for each in arrays) and all(
            fits(bulk[each["name"]], each["count"], each["dtype"], each["shape"]) for each in arrays
        )
    except (ValueError, KeyError, TypeError):
        return None
    return found if same else None


def _numbers(store: Store, name: str) -> tuple[int, int] | None:
    """The epoch and the number of a part, also of an unfinished one, from its file's name."""
    stem, *numbers = name.split(".")
    if stem != store.memory_part("", 0, 0).name.partition(".")[0] or len(numbers) < 2:
        return None
    return (int(numbers[0]), int(numbers[1])) if numbers[0].isdecimal() and numbers[1].isdecimal() else None
