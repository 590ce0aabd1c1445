"""The one way to write: a complete file beside its place, then renamed or linked there. Readers never see half a file.

Safe for many writers on a shared file system without locks: a rename replaces, a link happens once.
"""

import contextlib
import errno
import json
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from plasticity_lab.errors import StoreError

Content = bytes | Callable[[BinaryIO], Any]
"""What a file is to hold: its bytes, or a function that writes them to an open binary file."""

_ELSEWHERE = "or choose another folder with store=FOLDER"
_ADVICE = {
    errno.ENOSPC: f"the disk is full; free some space there {_ELSEWHERE}",
    errno.EDQUOT: f"your quota there is used up; free some space {_ELSEWHERE}",
    errno.EROFS: f"the disk is mounted read-only; have it mounted writable {_ELSEWHERE}",
    errno.EACCES: f"you have no permission; ask its owner {_ELSEWHERE}",
    errno.EPERM: f"you have no permission; ask its owner {_ELSEWHERE}",
    errno.ENOTDIR: f"a file stands where a folder is needed; move it away {_ELSEWHERE}",
    errno.EEXIST: f"a file stands where a folder is needed; move it away {_ELSEWHERE}",
    errno.EISDIR: f"a folder stands where a file is needed; move it away {_ELSEWHERE}",
    errno.EIO: f"the disk or its server reports a fault; try again later {_ELSEWHERE}",
    errno.ESTALE: "the file server has lost track of it; give the same command again",
}
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def write_atomically(path: Path, content: Content) -> None:
    """Puts a file in its place, whole, replacing what stood there; makes its folder.  Raises StoreError.

    When it returns, file and name are on the disk. When it fails, what stood there still stands, and nothing beside it.
    """
    with beside(path, content) as temporary, disk_errors("write", path):
        os.replace(temporary, path)
        _sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """The value as JSON that a person can read, written atomically.  Raises StoreError; ValueError for NaN."""
    write_atomically(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False).encode())


def create_once(path: Path, content: Content) -> bool:
    """Puts a file in its place if none stands there: True for exactly one of many that try.  Raises StoreError."""
    with beside(path, content) as temporary:
        return link_once(temporary, path)


def link_once(temporary: Path, path: Path) -> bool:
    """Gives a complete file its name if that is free: True for exactly one of many that try.  Raises StoreError."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        # Over NFS the reply can be lost and the call repeated: then the name that "exists" is the one just made.
        with disk_errors("write", path):
            return os.stat(temporary).st_nlink == 2
    except OSError as error:
        if error.errno in _NO_HARD_LINKS:
            raise StoreError(
                f"Cannot link {path}: that file system has no hard links, by which workers agree who trains what; "
                "choose a folder on another one with store=FOLDER."
            ) from error
        raise _in_words("write", path, error) from error
    return True


@contextlib.contextmanager
def beside(path: Path, content: Content) -> Iterator[Path]:
    """A complete file in the folder of `path`, under a name of its own, gone at the end unless renamed.

    Raises StoreError.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with disk_errors("write", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(temporary, "xb") as file:
                _fill(file, content)
                file.flush()
                os.fsync(file.fileno())
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def server_time(folder: Path) -> float:
    """Now by the clock that stamps the files of a folder, in seconds; hosts' own clocks differ.  Raises StoreError."""
    with beside(folder / "clock", b"now") as temporary:
        return os.stat(temporary).st_mtime


def read(path: Path) -> bytes | None:
    """What a file holds, or None where there is none.  Raises StoreError if it cannot be read."""
    with disk_errors("read", path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def names(folder: Path) -> list[str]:
    """The files of a folder, sorted, without those being written; none where there is no folder.  Raises StoreError."""
    with disk_errors("read", folder):
        try:
            return sorted(name for name in os.listdir(folder) if not name.startswith("."))
        except FileNotFoundError:
            return []


@contextlib.contextmanager
def disk_errors(verb: str, path: Path) -> Iterator[None]:
    """Turns what the operating system reports inside into a StoreError: what failed, where, and the way out."""
    try:
        yield
    except OSError as error:
        raise _in_words(verb, path, error) from error


def _in_words(verb: str, path: Path, error: OSError) -> StoreError:
    advice = _ADVICE.get(error.errno or 0, f"{error.strerror or error}; make it readable and writable {_ELSEWHERE}")
    return StoreError(f"Cannot {verb} {path}: {advice}.")


def _fill(file: BinaryIO, content: Content) -> None:
    if not callable(content):
        file.write(content)
        return
    try:
        content(file)
    except RuntimeError as error:
        # torch.save reports a full disk as a RuntimeError of its own, with the real cause behind it.
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None
        raise


def _sync_folder(folder: Path) -> None:
    """Brings a rename to the disk, where the file system can do that for a folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
