"""A disk whose machine dies at an operation on chosen files, or that answers with an error; in a process of its own."""

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from plasticity_lab.records import bulk_log, files

MODES = ("kill", "torn", "power", "full", "fault")
FEW_BYTES = 100
"""Smaller writes, of which a checkpoint has hundreds, do not count."""


class CrashingDisk:
    """Counts what is done to files of some names, and at one number does as its mode says.

    kill: the process dies before the operation. torn: half of a write is done. power: what was not synced is lost too.
    full, fault: this operation and the next two are answered with ENOSPC or EIO, and the process goes on.
    """

    def __init__(self, at: int | None, mode: str, stems: tuple[str, ...]) -> None:
        self.at, self.mode, self.stems = at, mode, stems
        self.count = 0
        self.unsynced: dict[int, tuple[Path, int]] = {}  # inode → its file, and how much of it is surely on the disk

    def install(self) -> None:
        """In this process, from now on."""
        replace, unlink, fsync = os.replace, Path.unlink, os.fsync

        def replaced(source: Path, target: Path) -> None:
            self.step(target)
            replace(source, target)
            for inode, (path, size) in self.unsynced.items():
                if path == source:
                    self.unsynced[inode] = target, size

        def unlinked(path: Path, missing_ok: bool = False) -> None:
            self.step(path)
            unlink(path, missing_ok)

        def synced(descriptor: int) -> None:
            about = os.fstat(descriptor)
            if about.st_ino in self.unsynced:
                path = self.unsynced[about.st_ino][0]
                self.step(path)
                self.unsynced[about.st_ino] = path, about.st_size
            fsync(descriptor)

        files.open = self.opened
        os.replace, Path.unlink, os.fsync = replaced, unlinked, synced
        assert bulk_log.os.fsync is synced

    def opened(self, path: Path, mode: str) -> Any:
        """A file in which each write counts."""
        self.step(path)
        file = open(path, mode, buffering=0)
        if self.watches(path):
            self.unsynced[os.fstat(file.fileno()).st_ino] = path, 0
        return _File(file, path, self)

    def watches(self, path: Path) -> bool:
        return path.name.removeprefix(".").startswith(self.stems)

    def step(self, path: Path, half: Callable[[], object] = lambda: None) -> None:
        """Counts an operation.  half: does half of it."""
        if not self.watches(path):
            return
        self.count += 1
        if self.at is None or not self.at <= self.count < self.at + 3:
            return
        if self.mode in ("full", "fault"):
            raise OSError(errno.ENOSPC if self.mode == "full" else errno.EIO, "made up")
        if self.mode == "torn":
            half()
        if self.mode == "power":
            for path, size in self.unsynced.values():
                if path.exists():
                    os.truncate(path, size)
        os.kill(os.getpid(), signal.SIGKILL)


class _File:
    def __init__(self, file: Any, path: Path, disk: CrashingDisk) -> None:
        self._file, self._path, self._disk = file, path, disk

    def write(self, content: Any) -> int:
        content = memoryview(content).cast("B")
        if len(content) >= FEW_BYTES:
            self._disk.step(self._path, lambda: self._file.write(content[: len(content) // 2]))
        return self._file.write(content)

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def in_a_process(act: Callable[[], object]) -> int:
    """Does something in a copy of this process, and waits for its end.  Returns 0, or the signal that ended it."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
