"""Downloading published files: mirrors in order, checksums, whole files or none."""

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pooch
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from plasticity_lab.errors import DataError

SECONDS_TO_CONNECT_AND_TO_READ = (10, 60)
CHUNK = 1 << 16


@dataclass(frozen=True)
class Archive:
    """A file as it is published: its name, which ends the address on every mirror, and the md5 of its bytes."""

    name: str
    md5: str


def download(archives: Sequence[Archive], mirrors: Sequence[str], folder: Path) -> None:
    """Bring the archives into the folder; each one appears under its name only when it is whole and right.

    A line per file goes to standard error, and on a terminal a progress bar.  Raises DataError if no mirror has a
    file, or the folder cannot be written.
    """
    pooch.get_logger().setLevel("WARNING")  # it would say the same in other words
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
            # pooch's file is readable only by its owner, but a group shares one folder of data.
            Path(path).chmod(0o644)
            return
        except (OSError, ValueError) as error:
            if isinstance(error, PermissionError) or getattr(error, "errno", None) is not None:
                raise unwritable(folder, error) from error
            failures.append(f"{mirror} ({_reason(error)})")
        finally:
            bar.remove()
    raise DataError(
        f"{archive.name} could not be downloaded from {', '.join(failures)}: try again, or download it by hand "
        f"from one of these into {folder}."
    )


def unwritable(folder: Path, error: OSError) -> DataError:
    """For errors of the file system, which carry a number; those of the network come from requests and carry none."""
    remedy = "make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "make it writable"
    reason = error.strerror or "permission denied"
    return DataError(f"{folder} cannot be written ({reason}): {remedy}, or name another folder with --folder.")


def _reason(error: Exception) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"status {response.status_code}"
    if isinstance(error, OSError):
        return f"no connection: {type(error).__name__}"
    return "wrong checksum"


class _Bar:
    """What pooch asks of a progress bar, drawn by rich. Pooch counts whole chunks and corrects the sum at the end."""

    def __init__(self, progress: Progress, name: str) -> None:
        self.progress, self.task, self.bytes = progress, progress.add_task(name, total=None), None

    @property
    def total(self) -> int | None:
        return self.bytes

    @total.setter
    def total(self, size: int) -> None:
        self.bytes = size or None  # 0 where the server does not say
        self.progress.update(self.task, total=self.bytes)

    def update(self, size: int) -> None:
        self.progress.advance(self.task, size)

    def reset(self) -> None:
        self.progress.reset(self.task, total=self.bytes)

    def close(self) -> None:
        self.progress.refresh()

    def remove(self) -> None:
        self.progress.remove_task(self.task)
