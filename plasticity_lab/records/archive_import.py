"""Imports an archive into a store.  The archive is untrusted: everything in it is checked before use.

It is read once, from its beginning to its end. Files that the store lacks go to a new folder in the store, and each is
compared with its size and checksum in the list. Only if all are right do they move to their places, records last.
"""

import contextlib
import hashlib
import json
import math
import os
import secrets
import shutil
import tarfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from plasticity_lab.errors import StoreError
from plasticity_lab.records.archive import FORMAT, LIST, RECORD, ids_of, no_archive, opened, pieces
from plasticity_lab.records.damage import fault_of_fields
from plasticity_lab.records.files import disk_errors, make_folder, read, share, stands
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.record_facts import check_files
from plasticity_lab.records.store import Store
from plasticity_lab.stored_files import PACKS, REPORT, RUNS, SWEEPS, is_kept

LONGEST_LIST = 1 << 28
"""Bytes of the list of files: a million files take half of it."""
MARGIN = 1 << 28
"""Bytes that stay free on the store's disk."""
LATEST = 2.0**35
"""The latest time of a file, in seconds since 1970, that every file system can store."""
FOLDER, HOURS = ".import-", 24
"""An import keeps files in a folder of this name until all are checked; a killed import's folder stays for HOURS."""


@dataclass
class Imported:
    """The outcome of an import, as sorted ids.

    runs, sweeps, packs: new in the store. known: runs of the store with the same record. other: runs of the store with
    another record. unreadable: runs of the archive that tables could not read and that stay behind, with the reason.
    """

    runs: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    sweeps: list[str] = field(default_factory=list)
    packs: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)


def import_archive(store: Store, path: Path) -> Imported:
    """Adds to a store the files of an archive that the store lacks; no file of the store is changed.

    A run of the store is not changed. A pack is imported only if the store has none of its files. The report of an
    archive is not imported: it is a page with scripts, and `python -m analysis report` writes the store's report.

    Raises StoreError if the file is no archive of a store, is damaged, has a file that `export` never writes, or needs
    more space than the disk has. Then nothing is imported, and no file is left. A killed import continues if the
    command is given again.
    """
    with opened(path) as archive:
        listed = _list_of(path, archive)
        present = {run for run in ids_of(listed, RUNS) if stands(store.record(run))}
        wanted = _wanted(store, listed, present)
        with _staging(store, sum(listed[name]["bytes"] for name in wanted)) as staged:
            _read_all(path, archive, listed, wanted, staged)
            unreadable = _unreadable(staged, ids_of(wanted, RUNS))
            moved = [name for name in wanted if not ids_of([name], RUNS) & unreadable.keys()]
            # A record makes its run count, so it comes last.
            for name in sorted(moved, key=lambda name: (name.endswith(f"/{RECORD}"), name)):
                _move(staged.root / name, store.root / name)
    outcome = Imported(sweeps=sorted(ids_of(moved, SWEEPS)), packs=sorted(ids_of(moved, PACKS)), unreadable=unreadable)
    for name in sorted(name for name in listed if name.endswith(f"/{RECORD}")):
        run = name.split("/")[2]
        if run in present:
            same = hashlib.sha256(read(store.record(run)) or b"").hexdigest() == listed[name]["sha256"]
            (outcome.known if same else outcome.other).append(run)
        elif run not in unreadable:
            outcome.runs.append(run)
    return outcome


def _list_of(path: Path, archive: tarfile.TarFile) -> dict[str, Mapping]:
    """The list of an archive, its first file: name → {"bytes", "sha256"}.  Raises StoreError."""
    first = archive.next()
    if first is None or first.name != LIST or not first.isreg():
        raise no_archive(path)
    damaged = StoreError(f"{path} cannot be read: its list of files is damaged.")
    if first.size > LONGEST_LIST:
        raise damaged
    content = b"".join(pieces(archive, first))
    try:
        listed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise damaged from error
    if fault_of_fields(listed, {"format": int, "files": dict}):
        raise damaged
    if (format := listed["format"]) != FORMAT:
        raise StoreError(f"{path} has format {format}, and this version reads {FORMAT}; a newer one may read it.")
    for name, file in listed["files"].items():
        if not is_kept(name):
            raise _stranger(path, name)
        if fault_of_fields(file, {"bytes": int, "sha256": str}) or file["bytes"] < 0:
            raise damaged
    return listed["files"]


def _wanted(store: Store, listed: Mapping[str, Mapping], present: set[str]) -> set[str]:
    """The names of the files that the store lacks.  present: runs with a record in the store."""
    packs = {
        pack for pack in ids_of(listed, PACKS) if not (stands(store.pack_folder(pack)) or stands(store.done(pack)))
    }

    def is_lacking(name: str) -> bool:
        part, *pieces = name.split("/")
        if part == RUNS:
            return pieces[1] not in present
        if part == PACKS:
            return pieces[0] in packs
        return name != REPORT and not stands(store.root / name)

    return {name for name in listed if is_lacking(name)}


@contextlib.contextmanager
def _staging(store: Store, needed: int) -> Iterator[Store]:
    """A store on the same disk, for files until all are checked; removed at the end.

    needed: bytes of these files.  Raises StoreError if the disk has less than that and `MARGIN` free.
    """
    disk = store.try_out()
    with disk_errors("write", store.root):
        free = shutil.disk_usage(disk).free
        if needed > free - MARGIN:
            raise StoreError(
                f"The archive needs {needed:,} bytes, and {disk} has {free:,} free and keeps {MARGIN:,} of them; "
                "free some space there, or name another store with --store."
            )
        for folder in disk.glob(f"{FOLDER}*"):
            with contextlib.suppress(OSError):
                if folder.stat().st_mtime < time.time() - HOURS * 3600:
                    shutil.rmtree(folder, ignore_errors=True)
        folder = disk / f"{FOLDER}{secrets.token_hex(6)}"
        folder.mkdir()
    try:
        yield Store(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read_all(
    path: Path, archive: tarfile.TarFile, listed: Mapping[str, Mapping], wanted: set[str], staged: Store
) -> None:
    """Reads all files after the list, and writes the wanted ones into `staged`.

    Raises StoreError if a file is not in the list, differs from it, or is missing.
    """
    read_names = set[str]()
    while (member := archive.next()) is not None:
        if not member.isreg() or member.issparse() or not is_kept(member.name):
            raise _stranger(path, member.name)
        stated = listed.get(member.name)
        if stated is None or member.name in read_names:
            raise StoreError(f"{path} is not whole: its files differ from its list.")
        if not 0 <= member.mtime <= LATEST or not math.isfinite(member.mtime):
            raise StoreError(f"{path} is damaged: {member.name} has no time that a file can have; get another copy.")
        read_names.add(member.name)
        target = staged.root / member.name if member.name in wanted else None
        if member.size != stated["bytes"] or _copied(archive, member, target) != stated["sha256"]:
            raise StoreError(f"{path} is damaged: {member.name} is not as it was written; get another copy.")
        archive.members.clear()  # type: ignore[attr-defined] (tarfile keeps every entry that it has read)
    if read_names != listed.keys():
        raise StoreError(f"{path} is not whole: its files differ from its list.")


def _copied(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path | None) -> str:
    """Copies a file of the archive to `target`, with its time, and returns its checksum; None: only reads it."""
    digest = hashlib.sha256()
    if target is None:
        for piece in pieces(archive, member):
            digest.update(piece)
        return digest.hexdigest()
    with disk_errors("write", target):
        target.parent.mkdir(parents=True, exist_ok=True)
        file = open(target, "xb")
    with file:
        for piece in pieces(archive, member):
            digest.update(piece)
            with disk_errors("write", target):
                file.write(piece)
        with disk_errors("write", target):
            file.flush()
            os.fsync(file.fileno())
            os.utime(file.fileno(), (member.mtime, member.mtime))  # sweeps are ordered by the time of their plans
    return digest.hexdigest()


def _unreadable(staged: Store, runs: set[str]) -> dict[str, str]:
    """Run → the reason why tables could not read it."""
    reasons = {}
    for run in sorted(runs):
        try:
            record = read_record(staged, run)
            if record is None:
                reasons[run] = "has no record"
                continue
            check_files(staged, record)
            read_metrics(staged, run)
        except StoreError as error:
            reasons[run] = str(error).replace(f"{staged.root}/", "")
    return reasons


def _move(source: Path, target: Path) -> None:
    """Moves a complete file to its place, unless another import has put one there.  Raises StoreError."""
    with disk_errors("write", target):
        make_folder(target.parent)
        share(source, target.parent)
        if not target.exists():
            os.replace(source, target)


def _stranger(path: Path, name: str) -> StoreError:
    return StoreError(
        f"{path} has {name[:200]!r}, which is no file of a store; nothing of it is imported. `python -m launch export` "
        "writes no such file: ask for an archive as it was written."
    )
