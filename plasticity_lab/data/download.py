"""Downloads published files from the first mirror that has them, checks their md5, and unpacks tar archives.

A file appears under its name only when it is complete.
"""

import errno
import gzip
import shutil
import tarfile
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

import pooch
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from plasticity_lab.errors import DataError

SECONDS_TO_CONNECT_AND_TO_READ = (10, 60)
CHUNK = 1 << 16
_AGAIN = "move it aside and fetch it again"


@dataclass(frozen=True)
class Archive:
    """A published file: its name, which ends its address on every mirror, and the md5 of its bytes."""

    name: str
    md5: str


def download(archives: Sequence[Archive], mirrors: Sequence[str], folder: Path) -> None:
    """Downloads the archives into the folder.

    Prints a line per file to standard error, and on a terminal a progress bar.  Raises DataError if no mirror has a
    file, or if the folder cannot be written.
    """
    pooch.get_logger().setLevel("WARNING")  # it would print the same lines in other words
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        for archive in archives:
            _from_first_mirror(archive, mirrors, folder, progress)


def _from_first_mirror(archive: Archive, mirrors: Sequence[str], folder: Path, progress: Progress) -> None:
    failures = []
    for mirror in mirrors:
        url = mirror + archive.name
        progress.console.print(f"downloading {url}", markup=False, highlight=False, soft_wrap=True)
        bar = _Bar(progress, archive.name)
        fetcher = pooch.HTTPDownloader(bar, chunk_size=CHUNK, timeout=SECONDS_TO_CONNECT_AND_TO_READ)
        try:
            path = pooch.retrieve(url, f"md5:{archive.md5}", archive.name, folder, downloader=fetcher)
            # pooch lets only the owner read the file, but a group shares one folder of data.
            Path(path).chmod(0o644)
            return
        except (OSError, ValueError) as error:
            if isinstance(error, PermissionError) or getattr(error, "errno", None) is not None:
                raise unwritable(folder, error) from error
            failures.append(f"{mirror} ({_reason(error)})")
        finally:
            progress.remove_task(bar.task)
    raise DataError(
        f"{archive.name} could not be downloaded from {', '.join(failures)}: try again, or download it by hand "
        f"from one of these into {folder}."
    )


def unwritable(folder: Path, error: OSError) -> DataError:
    """The error for a folder that cannot be written.

    Errors of the file system carry an errno; errors of the network, which requests raises, carry none.
    """
    remedy = "make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "make it writable"
    reason = error.strerror or "permission denied"
    return DataError(f"{folder} cannot be written ({reason}): {remedy}, or name another folder with --folder.")


def _reason(error: Exception) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"status {response.status_code}"
    return f"no connection: {type(error).__name__}" if isinstance(error, OSError) else "wrong checksum"


class _Bar:
    """The progress bar that pooch asks for, drawn by rich.  pooch sets `total`, which is 0 if the server names none."""

    def __init__(self, progress: Progress, name: str) -> None:
        self.progress, self.task, self.total = progress, progress.add_task(name, total=None), 0

    def update(self, size: int) -> None:
        self.progress.update(self.task, advance=size, total=self.total or None)

    def reset(self) -> None:  # pooch counts whole chunks and corrects the sum at the end
        self.progress.reset(self.task)

    def close(self) -> None:
        self.progress.refresh()


def unpack(archive: Path, wanted: Collection[str], folder: Path) -> None:
    """Unpacks the wanted files of a tar archive into the folder.

    Members are named one by one: tarfile has extraction filters only since Python 3.11.4.  Raises DataError if the
    archive is damaged, lacks a wanted file, has a link in its place, or names a file outside its folder; then nothing
    is written.
    """
    try:
        with tarfile.open(archive) as tar:
            members = {member.name: member for member in tar.getmembers()}
            _check_members(archive, wanted, members)
            for name in wanted:
                content = tar.extractfile(members[name])
                assert content is not None  # a regular file
                with content:
                    _place(content, folder / name)
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"{archive} is truncated or damaged: {_AGAIN}.") from error
    except OSError as error:
        raise unwritable(folder, error) from error


def _check_members(archive: Path, wanted: Collection[str], members: dict[str, tarfile.TarInfo]) -> None:
    for path in map(PurePosixPath, members):
        if path.is_absolute() or ".." in path.parts:
            raise DataError(f"{archive} names the file {path}, outside its own folder: it is not safe; {_AGAIN}.")
    for name in wanted:
        if name not in members or not members[name].isfile():
            raise DataError(f"{archive} does not hold the file {name}: it is not the published archive; {_AGAIN}.")


def _place(content: IO[bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        unfinished.chmod(0o644)  # a group shares one folder of data
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
