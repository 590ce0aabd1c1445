"""The index of a store: a line for each run with its outcome. It repeats records, and can be deleted at any time.

`index/runs` has a line for most runs. Each process that writes records appends lines to its own file in the same
folder, since no two processes may write one file; now and then all files are merged. A line counts only while the files
that it describes are unchanged, so no reader gets stale answers, however many processes write lines.
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
from typing import Any, NamedTuple

from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import write_file
from plasticity_lab.records.files import make_folder, names
from plasticity_lab.records.store import Store

WHOLE = "runs"
FORMAT = 2
"""Lines of other formats are ignored, and written again."""


class Outcome(NamedTuple):
    """How a run ended: the parts of its record that planning and `status` need.

    flags: in addition to the status (`collapsed`, and flags of its agent). failures: how many times in a row it has
    failed. pack, width, pack_seconds, kind: the pack that trained it, its number of runs, its duration, and its kind of
    device; None if the record lacks them. keeps_weights: whether final parameters are kept. classes, names: digests of
    the record's targets (None if they are assumed), and of each `asked_as` entry. marks: the files' marks, as
    `marks_of` returns them; empty if the record must be read each time.
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
    """Digests of values that are often the same object: each object is hashed once."""

    def __init__(self) -> None:
        # The object is kept, so that no other object gets its id.
        self._known: dict[int, tuple[Any, str]] = {}

    def __call__(self, value: Any) -> str:
        """The digest of a value that does not change."""
        if id(value) not in self._known:
            self._known[id(value)] = value, digest(value)
        return self._known[id(value)][1]


def marks_of(folder: str, files: Iterable[str]) -> list[int]:
    """Size, time and inode of each file, which a replaced file changes; nothing for a missing one."""
    marks = []
    for name in files:
        with contextlib.suppress(OSError):
            about = os.stat(f"{folder}/{name}")
            marks += [about.st_size, about.st_mtime_ns, about.st_ino]
    return marks


def holds(folder: str, files: Sequence[str], marks: Sequence[int]) -> bool:
    """Whether the files have these marks."""
    if len(marks) != 3 * len(files):
        return False
    try:
        # Written out for speed: it is called for a hundred thousand runs.
        for at, name in enumerate(files):
            now = os.stat(f"{folder}/{name}")
            if now.st_mtime_ns != marks[3 * at + 1] or now.st_size != marks[3 * at] or now.st_ino != marks[3 * at + 2]:
                return False
    except OSError:
        return False
    return True


def add_line(store: Store, run: str, outcome: Outcome) -> None:
    """Appends a line to this process's file. A failure is ignored: nothing depends on the line."""
    with contextlib.suppress(OSError):
        make_folder(store.index_folder)
        with open(store.index_folder / _process_name(os.getpid()), "ab") as file:
            file.write(_line(run, outcome))


def read_lines(store: Store) -> tuple[dict[str, bytes], dict[str, int]]:
    """Run → its latest line, and the files of processes: name → the number of lines.

    Files that cannot be read are left out.
    """
    lines: dict[str, bytes] = {}
    counts: dict[str, int] = {}
    with contextlib.suppress(StoreError):
        counts = {name: 0 for name in names(store.index_folder) if name != WHOLE}
    for name in (WHOLE, *counts):
        with contextlib.suppress(OSError):
            read = (store.index_folder / name).read_bytes().splitlines()
            lines |= {line.partition(b" ")[0].decode(errors="replace"): line for line in read}
            counts |= {name: len(read)} if name in counts else {}
    return lines, counts


def outcome_in(line: bytes) -> Outcome | None:
    """The outcome in a line; None if the line is damaged, or of another format."""
    try:
        run, check, content = line.split(b" ", 2)
        if int(check, 16) != zlib.crc32(run + content):
            return None
        format, *fields = json.loads(content.decode())
        return Outcome(*fields) if format == FORMAT else None
    except (ValueError, TypeError):
        return None


def write_lines(store: Store, lines: Mapping[str, bytes], news: Mapping[str, Outcome], others: Iterable[str]) -> None:
    """Writes all lines into one file, and deletes the other files; not if the store cannot be written."""
    made = {run: _line(run, outcome) for run, outcome in news.items()}
    with contextlib.suppress(StoreError):
        rest = (line + b"\n" for run, line in lines.items() if run not in made)
        write_file(store.index_folder / WHOLE, lambda file: file.writelines(chain(rest, made.values())))
        for name in others:
            with contextlib.suppress(OSError):
                (store.index_folder / name).unlink()


def _line(run: str, outcome: Outcome) -> bytes:
    content = json.dumps([FORMAT, *outcome], separators=(",", ":")).encode()
    return b"%s %08x %s\n" % (run.encode(), zlib.crc32(run.encode() + content), content)


@functools.cache
def _process_name(process: int) -> str:
    """A name that no other process has, not even a forked one."""
    return f"{socket.gethostname()}.{process}.{secrets.token_hex(4)}"
