"""The index of a store: how each run ended, in a line. It repeats what records say, and can be deleted at any time.

`index/runs` has a line for most runs. Each process that writes records adds lines to a file of its own beside it, since
no two processes may write one file; now and then all are put together anew. A line is believed only while the files
that it was made of are the same: so whoever writes lines, and however many do at once, no reader gets anything stale.
"""

import contextlib
import functools
import hashlib
import json
import os
import secrets
import socket
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import write_file
from plasticity_lab.records.files import make_folder, names
from plasticity_lab.records.store import Store

FORMAT = 2
"""Lines of other formats are passed over, and made anew."""


class Outcome(NamedTuple):
    """How a run ended, in short: what planning and `status` ask of its record.

    flags: what the record says beside the status (`collapsed`, or what its agent says). failures: how often in turn it
    has failed. pack, width, pack_seconds, kind: where it was trained, among how many runs, how long that took, and on
    which kind of device; None where the record does not say. keeps_weights: whether final parameters lie beside the
    record. classes, names: digests of the record's targets (None where it keeps none), and of each name under which it
    was asked for. marks: those of the files that this was made of, as `marks_of` has them; none where it must be made
    anew each time.
    """

    status: str
    flags: Sequence[str]
    diverged_at_step: int | None
    failures: int
    pack: str | None
    width: int | None
    pack_seconds: float | None
    kind: str | None
    keeps_weights: bool
    classes: str | None
    names: Sequence[str]
    marks: Sequence[int]


def digest(value: Any) -> str:
    """A short hash of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


class Digests:
    """Digests of values of which many are one object: each is hashed once."""

    def __init__(self) -> None:
        # With the object, so that no other one is ever given its id.
        self._known: dict[int, tuple[Any, str]] = {}

    def __call__(self, value: Any) -> str:
        """The digest of a value that nobody changes."""
        if id(value) not in self._known:
            self._known[id(value)] = value, digest(value)
        return self._known[id(value)][1]


def marks_of(folder: str, files: Iterable[str]) -> list[int]:
    """Size, time and inode of each file, by which another one in its place is noticed; nothing of a missing one."""
    marks = []
    for name in files:
        with contextlib.suppress(OSError):
            about = os.stat(f"{folder}/{name}")
            marks += [about.st_size, about.st_mtime_ns, about.st_ino]
    return marks


def holds(folder: str, files: Sequence[str], marks: Sequence[int]) -> bool:
    """Whether the files are those that have these marks."""
    if len(marks) != 3 * len(files):
        return False
    try:
        # Written out, since it is asked of a hundred thousand runs.
        for at, name in enumerate(files):
            now = os.stat(f"{folder}/{name}")
            if now.st_mtime_ns != marks[3 * at + 1] or now.st_size != marks[3 * at] or now.st_ino != marks[3 * at + 2]:
                return False
    except OSError:
        return False
    return True


def add_line(store: Store, run: str, outcome: Outcome) -> None:
    """Adds a line to this process's own file. Where that cannot be done it is left out: nothing depends on it."""
    with contextlib.suppress(OSError):
        make_folder(store.index_folder)
        with open(store.index_folder / _own_name(os.getpid()), "ab") as file:
            file.write(_line(run, outcome))


def read_lines(store: Store) -> tuple[dict[str, bytes], dict[str, int]]:
    """Run → the latest line about it, and the files that processes have added lines to: name → how many lines.

    None of either where they cannot be read.
    """
    lines: dict[str, bytes] = {}
    counts: dict[str, int] = {}
    whole = _path(store).name
    with contextlib.suppress(StoreError):
        counts = {name: 0 for name in names(store.index_folder) if name != whole}
    for name in (whole, *counts):
        with contextlib.suppress(OSError):
            read = (store.index_folder / name).read_bytes().splitlines()
            lines |= {line.partition(b" ")[0].decode(errors="replace"): line for line in read}
            counts |= {name: len(read)} if name in counts else {}
    return lines, counts


def outcome_in(line: bytes) -> Outcome | None:
    """What a line says; None of one that is damaged, or of another format."""
    try:
        run, check, content = line.split(b" ", 2)
        if int(check, 16) != zlib.crc32(run + content):
            return None
        format, *fields = json.loads(content.decode())
        return Outcome(*fields) if format == FORMAT else None
    except (ValueError, TypeError):
        return None


def write_lines(store: Store, lines: Mapping[str, bytes], news: Mapping[str, Outcome], others: Iterable[str]) -> None:
    """Puts all lines into one file, and deletes the others of which they were read; not where that cannot be done."""
    made = {run: _line(run, outcome) for run, outcome in news.items()}
    with contextlib.suppress(StoreError):
        rest = (line + b"\n" for run, line in lines.items() if run not in made)
        write_file(_path(store), lambda file: file.writelines(chain(rest, made.values())))
        for name in others:
            with contextlib.suppress(OSError):
                (store.index_folder / name).unlink()


def _line(run: str, outcome: Outcome) -> bytes:
    content = json.dumps([FORMAT, *outcome], separators=(",", ":")).encode()
    return b"%s %08x %s\n" % (run.encode(), zlib.crc32(run.encode() + content), content)


def _path(store: Store) -> Path:
    return store.index_folder / "runs"


@functools.cache
def _own_name(process: int) -> str:
    """A name that no other process has: of a forked one neither."""
    return f"{socket.gethostname()}.{process}.{secrets.token_hex(4)}"
