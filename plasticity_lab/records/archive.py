"""An archive: a store in one tar file, with its records, plans and unfinished packs, each with its checksum.

Temporary and machine-specific files are left out: leases, claims, the index, calibrations, W&B's folders, logs of jobs.
The suffix of its name decides whether it is compressed. It can be read without this package.

Reading treats an archive as untrusted: it does not believe sizes, and each fault is one message.
"""

import contextlib
import gzip
import hashlib
import io
import json
import struct
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import beside, disk_errors, stands
from plasticity_lab.records.store import Store
from plasticity_lab.stored_files import LAYOUT, PACKS, REPORT, RUNS, SWEEPS, is_kept

FORMAT = 1
LIST = "plasticity_lab.json"
"""The first file of an archive: its format, and checksum and size of every other file."""
RECORD = "record.json"
SUFFIXES = (".tar", ".tar.gz", ".tgz")
PIECE = 1 << 20
"""The most bytes read at once; a tar header that asks for more is refused."""
UNREADABLE = (
    OSError,
    EOFError,
    zlib.error,
    struct.error,
    tarfile.TarError,
    ValueError,
    OverflowError,
    RecursionError,
    MemoryError,
)
"""The errors of tarfile, gzip and json for damaged or malicious files."""


def export_store(
    store: Store, path: Path, held: Iterable[str] = (), strangers: list[str] | None = None
) -> tuple[int, int]:
    """Writes a store's records, plans and unfinished packs into an archive; returns its number of runs and of packs.

    held: packs in training, which are left out. strangers: receives the names of files that are left out because no
    store writes such files. Raises StoreError, also for an empty store, for a name without a tar suffix, and for an
    existing file; then nothing is written.
    """
    if not path.name.endswith(SUFFIXES):
        raise StoreError(f"{path} is no name of an archive; it must end in {', '.join(SUFFIXES)}.")
    if stands(path):
        raise StoreError(f"{path} exists already and is not overwritten; remove it, or give another name.")
    files = sorted(_files(store, set(held), [] if strangers is None else strangers))
    runs = {name.split("/")[2] for name in files if name.startswith(f"{RUNS}/") and name.endswith(f"/{RECORD}")}
    if not files:
        raise StoreError(f"In {store.root} no run has ended or begun, and none is planned: there is nothing to export.")
    sums = {}
    for name in files:
        with disk_errors("read", store.root / name):
            content = (store.root / name).read_bytes()
        sums[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}

    def fill(file: BinaryIO) -> None:
        mode = "w" if path.suffix == ".tar" else "w:gz"
        with tarfile.open(fileobj=file, mode=mode, format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
            _add(archive, LIST, json.dumps({"format": FORMAT, "files": sums}, indent=1).encode(), 0.0)
            for name in files:
                with disk_errors("read", store.root / name):
                    content, written = (store.root / name).read_bytes(), (store.root / name).stat().st_mtime
                if hashlib.sha256(content).hexdigest() != sums[name]["sha256"]:
                    raise StoreError(f"{store.root / name} was written while it was exported; give the command again.")
                _add(archive, name, content, written)

    with beside(path, fill) as whole, disk_errors("write", path):
        whole.replace(path)
    return len(runs), len({pack for pack in ids_of(files, PACKS) if not stands(store.done(pack))})


def _files(store: Store, held: set[str], strangers: list[str]) -> Iterator[str]:
    """The names of all exported files, relative to the store's folder."""
    for part in LAYOUT:
        folder = store.root / part
        for path in folder.rglob("*") if folder.is_dir() else ():
            name = path.relative_to(store.root).as_posix()
            pieces = name.split("/")
            hidden = any(piece.startswith(".") or ".corrupt-" in piece for piece in pieces)
            of_held = part == PACKS and pieces[1] in held
            of_jobs = part == SWEEPS and len(pieces) > 2
            if hidden or of_held or not path.is_file():
                continue
            if is_kept(name):
                yield name
            elif not of_jobs:
                strangers.append(name)
    if (store.root / REPORT).is_file():
        yield REPORT


def ids_of(names: Iterable[str], part: str) -> set[str]:
    """The ids of the runs, sweeps or packs that have files under these names.  part: RUNS, SWEEPS or PACKS."""
    at = 2 if part == RUNS else 1
    return {name.split("/")[at] for name in names if name.startswith(f"{part}/")}


def _add(archive: tarfile.TarFile, name: str, content: bytes, written: float) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(content), written, 0o644  # type: ignore[assignment]
    archive.addfile(member, io.BytesIO(content))


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tarfile.TarFile]:
    """The archive, plain tar or gzip by its content, as `export` writes it.  Raises StoreError, also for the reader."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
            zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            content = _InPieces(stack.enter_context(gzip.GzipFile(fileobj=file)) if zipped else file)
            archive = stack.enter_context(tarfile.open(fileobj=content, mode="r:"))  # type: ignore[call-overload]
        except UNREADABLE as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise StoreError(f"Cannot read {path}: {error.strerror or error}.") from error
            raise no_archive(path) from error
        try:
            yield archive
        except UNREADABLE as error:
            raise StoreError(f"{path} breaks off, or is damaged; get another copy.") from error


class _InPieces:
    """A file that refuses to read more than `PIECE` bytes at once: sizes in tar headers may be wrong."""

    def __init__(self, file: BinaryIO | gzip.GzipFile) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        """Reads as a file does.  Raises ValueError for a size above `PIECE`."""
        if not 0 <= size <= PIECE:
            raise ValueError(f"a header of {size} bytes")
        return self._file.read(size)


def pieces(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    """The content of a file of the archive.  Raises EOFError if it breaks off."""
    file, left = archive.extractfile(member), member.size
    while file is not None and left:
        piece = file.read(min(PIECE, left))
        if not piece:
            raise EOFError
        left -= len(piece)
        yield piece


def no_archive(path: Path) -> StoreError:
    """The error for a file that is not an archive of a store."""
    return StoreError(f"{path} is no archive of a store; `python -m launch export` writes them.")
