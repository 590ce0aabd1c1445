"""A store in one file: records, plans and unfinished packs as they lie there, each with its checksum.

What is of a moment or of a machine stays behind: leases, claims, the index, calibrations, W&B's folders, logs of jobs.
It is a tar file, compressed where its name says so, that can be read without us.
"""

import hashlib
import io
import json
import os
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import beside, disk_errors, read, stands, write_atomically
from plasticity_lab.records.store import Store
from plasticity_lab.stored_files import LAYOUT, PACKS, REPORT, RUNS, SWEEPS, is_kept

FORMAT = 1
LIST = "plasticity_lab.json"
"""The first file of an archive: its format, and checksum and size of every other one."""
PARTS = tuple(LAYOUT)
"""The folders of a store of which there may be files in an archive."""
RECORD = "record.json"
BROKEN = (OSError, EOFError, zlib.error, tarfile.TarError)
"""What reading a file that is not whole raises."""
ENDINGS_OF_TAR = (".tar", ".tar.gz", ".tgz")


@dataclass
class Taken:
    """What an archive has brought: ids of runs, sweeps and packs that are new here, and of runs that were here."""

    runs: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    sweeps: list[str] = field(default_factory=list)
    packs: list[str] = field(default_factory=list)


def export_store(
    store: Store, path: Path, held: Iterable[str] = (), strangers: list[str] | None = None
) -> tuple[int, int]:
    """Writes a store's records, plans and unfinished packs into a file; how many runs and packs are in it.

    held: packs that are being trained, which stay behind. strangers: to which the names of files are added that stay
    behind because no store writes such files. Raises StoreError, also if there is nothing, if the name is none of a
    tar file, or if the file is there already; then nothing is written.
    """
    if not path.name.endswith(ENDINGS_OF_TAR):
        raise StoreError(f"{path} is no name of an archive; it must end in {', '.join(ENDINGS_OF_TAR)}.")
    if stands(path):
        raise StoreError(f"{path} is there already, and is not written over; remove it, or give another name.")
    files = sorted(_files(store, set(held), [] if strangers is None else strangers))
    runs = {name.split("/")[2] for name in files if name.startswith(f"{RUNS}/") and name.endswith(f"/{RECORD}")}
    if not files:
        raise StoreError(f"In {store.root} no run has ended or begun, and none is planned: there is nothing to export.")
    sums = {name: _sum(store.root / name) for name in files}

    def fill(file: BinaryIO) -> None:
        mode = "w" if path.suffix == ".tar" else "w:gz"
        with tarfile.open(fileobj=file, mode=mode, format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
            listed = json.dumps({"format": FORMAT, "files": sums}, indent=1).encode()
            _add(archive, LIST, listed, 0.0)
            for name in files:
                with disk_errors("read", store.root / name):
                    content, written = (store.root / name).read_bytes(), (store.root / name).stat().st_mtime
                if _digest(content) != sums[name]["sha256"]:
                    raise StoreError(f"{store.root / name} was written while it was exported; give the command again.")
                _add(archive, name, content, written)

    with beside(path, fill) as whole, disk_errors("write", path):
        whole.replace(path)
    return len(runs), len({pack for pack in _ids(files, PACKS) if not stands(store.done(pack))})


def import_archive(store: Store, path: Path) -> Taken:
    """Adds to a store what an archive has and the store has not; nothing that is there is changed.

    The whole archive is checked first. A run that is here already stays as it is: `known` if its record is the same,
    else `other`. A pack comes where none of its files is here. Raises StoreError for a file that is no such archive, or
    not as it was written; then nothing is imported. Given again, it goes on.
    """
    sums, taken = _checked(path), Taken()
    here = {run for run in _ids(sums, RUNS) if stands(store.record(run))}
    packs = {pack for pack in _ids(sums, PACKS) if not stands(store.pack_folder(pack))}
    done = {pack for pack in _ids(sums, PACKS) if stands(store.done(pack))}
    wanted = [name for name in sums if _is_wanted(store, name, here, packs - done)]
    # A record stands for its run, and comes when the rest is there.
    order = sorted(wanted, key=lambda name: (name.endswith(f"/{RECORD}"), name))
    records = {name: None for name in sums if name.startswith(f"{RUNS}/") and name.endswith(f"/{RECORD}")}
    with _opened(path) as archive:
        members = {member.name: member for member in archive.getmembers()}
        for name in order:
            _put(store, name, _content(archive, members[name]), members[name].mtime)
        for name in records:
            run = name.split("/")[2]
            if run in here:
                same = read(store.record(run)) == _content(archive, members[name])
                (taken.known if same else taken.other).append(run)
            else:
                taken.runs.append(run)
    taken.sweeps = sorted(_ids({name: None for name in order}, SWEEPS))
    taken.packs = sorted(_ids({name: None for name in order}, PACKS))
    return taken


def _files(store: Store, held: set[str], strangers: list[str]) -> Iterator[str]:
    """The names, from the store's folder on, of all that is exported."""
    for part in PARTS:
        folder = store.root / part
        for path in folder.rglob("*") if folder.is_dir() else ():
            name = path.relative_to(store.root).as_posix()
            pieces = name.split("/")
            hidden = any(piece.startswith(".") or ".corrupt-" in piece for piece in pieces)
            of_held = part == PACKS and pieces[1] in held
            of_this_place = part == SWEEPS and len(pieces) > 2  # jobs and submissions
            if hidden or of_held or not path.is_file():
                continue
            if is_kept(name):
                yield name
            elif not of_this_place:
                strangers.append(name)
    if (store.root / REPORT).is_file():
        yield REPORT


def _is_wanted(store: Store, name: str, here: set[str], packs: set[str]) -> bool:
    part, *pieces = name.split("/")
    if part == RUNS:
        return pieces[1] not in here
    if part == PACKS:
        return pieces[0] in packs
    return not stands(store.root / name)


def _ids(names: Iterable[str], part: str) -> set[str]:
    at = 2 if part == RUNS else 1
    return {name.split("/")[at] for name in names if name.startswith(f"{part}/")}


def _checked(path: Path) -> dict[str, dict[str, int | str]]:
    """Name → checksum and size of all files of an archive, each of which is as it was written.  Raises StoreError."""
    with _opened(path) as archive:
        members = _members(path, archive)
        if not members or members[0].name != LIST:
            raise StoreError(f"{path} is no archive of a store; `python -m launch export` writes them.")
        try:
            listed = json.loads(_content(archive, members[0]))
            version, sums = listed["format"], dict(listed["files"])
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path} cannot be read: its list of files is damaged.") from error
        if version != FORMAT:
            raise StoreError(f"{path} has format {version}, and this version reads {FORMAT}; a newer one may read it.")
        if {member.name for member in members[1:]} != set(sums):
            raise StoreError(f"{path} is not whole: its files are not those of its list.")
        for member in members[1:]:
            if not member.isfile() or not is_kept(member.name):
                raise StoreError(
                    f"{path} has {member.name!r}, which is no file of a store; nothing of it is imported. "
                    "`python -m launch export` writes no such file: ask for an archive as it was written."
                )
            if _digest(_content(archive, member)) != sums[member.name]["sha256"]:
                raise StoreError(f"{path} is damaged: {member.name} is not as it was written; get another copy.")
    return sums


def _opened(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path)
    except OSError as error:
        raise StoreError(f"Cannot read {path}: {error.strerror or error}.") from error
    except tarfile.TarError as error:
        raise StoreError(f"{path} is no archive of a store; `python -m launch export` writes them.") from error


def _members(path: Path, archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    try:
        return archive.getmembers()
    except BROKEN as error:
        raise StoreError(f"{path} breaks off, or is damaged; get another copy.") from error


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    try:
        file = archive.extractfile(member)
        return b"" if file is None else file.read()
    except BROKEN as error:
        raise StoreError(f"{archive.name} breaks off within {member.name}; get another copy.") from error


def _put(store: Store, name: str, content: bytes, written: float) -> None:
    """A file in its place, with the time that it had: sweeps are ordered by that of their plans."""
    path = store.root / name
    write_atomically(path, content)
    with disk_errors("write", path):
        os.utime(path, (written, written))


def _add(archive: tarfile.TarFile, name: str, content: bytes, written: float) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(content), written, 0o644  # type: ignore[assignment]
    archive.addfile(member, io.BytesIO(content))


def _sum(path: Path) -> dict[str, int | str]:
    with disk_errors("read", path):
        content = path.read_bytes()
    return {"bytes": len(content), "sha256": _digest(content)}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
