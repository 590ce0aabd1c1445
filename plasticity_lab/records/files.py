"""Writing files: a complete file next to its place, then renamed or linked there. Readers never see half a file.

Safe for many writers on a shared file system without locks: a rename replaces, and a link succeeds once.
"""

import contextlib
import errno
import json
import math
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from plasticity_lab.errors import StoreError

Content = bytes | Callable[[BinaryIO], Any]
"""The content of a file: its bytes, or a function that writes them to an open binary file."""

_ELSEWHERE = "or choose another folder with store=FOLDER"
_NO_PERMISSION = "you have no permission; ask its owner"
_NO_FOLDER = "a file is in the place of a folder; move it away"
_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space there",
    errno.EDQUOT: "your quota there is used up; free some space",
    errno.EROFS: "the disk is mounted read-only; have it mounted writable",
    errno.EACCES: _NO_PERMISSION,
    errno.EPERM: _NO_PERMISSION,
    errno.ENOTDIR: _NO_FOLDER,
    errno.EEXIST: _NO_FOLDER,
    errno.EISDIR: "a folder is in the place of a file; move it away",
    errno.EIO: "the disk or its server reports a fault; try again later",
}
_PASSING = {
    getattr(errno, name)
    for name in (
        "EAGAIN EBUSY ECONNABORTED ECONNREFUSED ECONNRESET EDQUOT EHOSTDOWN EHOSTUNREACH EINTR EIO EMFILE ENETDOWN "
        "ENETUNREACH ENFILE ENODEV ENOLINK ENOMEM ENOSPC ENOTCONN EREMOTEIO EROFS ESHUTDOWN ESTALE ETIMEDOUT"
    ).split()
    if hasattr(errno, name)
}
"""The errors of a disk or a server that is full, read-only or away; they end when it is available again."""
_UNFINISHED = (".tmp", ".link", ".look")
"""The suffixes of temporary files; their names begin with a dot."""
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class StoreFault(StoreError):
    """A disk is full, read-only or away: the request was correct, and may succeed later."""


def write_atomically(path: Path, content: Content) -> None:
    """Writes a file and replaces an earlier one; makes its folder.  Raises StoreError.

    When it returns, the file and its name are on the disk. If it fails, the earlier file is unchanged, and no temporary
    file is left.
    """
    with beside(path, content) as temporary, disk_errors("write", path):
        os.replace(temporary, path)
        # Brings the rename to the disk, if the file system can do that for a folder.
        with contextlib.suppress(OSError):
            descriptor = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def json_bytes(value: Any) -> bytes:
    """The value as indented JSON.  Raises ValueError for NaN."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False).encode()


def write_json(path: Path, value: Any) -> None:
    """Writes the value as indented JSON, atomically.  Raises StoreError; ValueError for NaN."""
    write_atomically(path, json_bytes(value))


def create_once(path: Path, content: Content) -> bool:
    """Creates a file if its name is free: True for exactly one of several callers.  Raises StoreError."""
    with beside(path, content) as temporary:
        return link_once(temporary, path)


def link_once(temporary: Path, path: Path) -> bool:
    """Gives a complete file its name if that is free: True for exactly one of several callers.  Raises StoreError."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        # Over NFS the reply can be lost and the call repeated: then this call has made the name that "exists".
        with disk_errors("write", path):
            try:
                return os.path.samestat(os.stat(temporary), os.stat(path))
            except FileNotFoundError:  # the owner of the name has removed it
                return False
    except OSError as error:
        if error.errno in _NO_HARD_LINKS:
            raise StoreError(
                f"Cannot link {path}: that file system has no hard links, which workers need to claim packs; "
                "choose a folder on another one with store=FOLDER."
            ) from error
        raise _store_error("write", path, error) from error
    return True


@contextlib.contextmanager
def beside(path: Path, content: Content) -> Iterator[Path]:
    """A complete temporary file in the folder of `path`; it is removed at the end unless it was renamed.

    Raises StoreError.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with disk_errors("write", path):
            make_folder(path.parent)
            with open(temporary, "xb") as file:
                share(file.fileno(), path.parent)
                _fill(file, content)
                file.flush()
                os.fsync(file.fileno())
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def clear_unfinished(folder: Path, before: float = math.inf) -> None:
    """Removes temporary files of killed processes from a folder; files that cannot be removed stay.

    before: removes only files last written before this time, by the server's clock. Other processes may be writing in
    the folder. The default is for folders of the caller, such as the run folders of a pack's holder.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for file in entries:
            if file.name.startswith(".") and file.name.endswith(_UNFINISHED):
                with contextlib.suppress(OSError):
                    if file.stat(follow_symlinks=False).st_mtime < before:
                        os.unlink(file)


def make_folder(folder: Path) -> None:
    """Makes a folder and its missing parents, each shared with the group of its parent (see `share`).

    Raises OSError.
    """
    try:
        folder.mkdir()
    except FileNotFoundError:
        if not folder.parent.is_dir():
            make_folder(folder.parent)
        folder.mkdir(exist_ok=True)  # another process may have made it; /proc, for example, takes none and raises again
        share(folder, folder.parent)
    except OSError:  # some file systems report an existing folder by another error
        if not folder.is_dir():
            raise
    else:
        share(folder, folder.parent)


def share(new: int | Path, folder: Path) -> None:
    """Gives a new file or folder to the group of its folder if that group may write there, independent of the umask.

    Files in folders that every user may write to, such as /tmp, are not shared.  Raises OSError.
    """
    parent = os.stat(folder)
    if not parent.st_mode & stat.S_IWGRP or parent.st_mode & stat.S_IWOTH:
        return
    now = os.stat(new)
    if now.st_gid != parent.st_gid:
        try:
            os.chown(new, -1, parent.st_gid)
        except OSError:
            return  # its owner is not in that group, or the file system has no groups
    wanted = stat.S_IMODE(now.st_mode) | stat.S_IRGRP | stat.S_IWGRP
    if stat.S_ISDIR(now.st_mode):
        wanted |= stat.S_IXGRP | parent.st_mode & stat.S_ISGID
    if wanted != stat.S_IMODE(now.st_mode):
        with contextlib.suppress(PermissionError):
            os.chmod(new, wanted)


def stands(path: Path) -> bool:
    """Whether a file exists now, by the server's answer.  Raises StoreError.

    An NFS client remembers for up to a minute that a name was not found. When it makes a file in a folder, it learns of
    other changes there, and asks the server again.
    """
    with disk_errors("write", path):
        look = path.with_name(f".{path.name}.{secrets.token_hex(6)}.look")
        with contextlib.suppress(FileNotFoundError):  # no folder, and so no file
            descriptor = os.open(look, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            try:
                look.unlink()
            finally:
                os.close(descriptor)
        return seen(path)


def seen(path: Path) -> bool:
    """Whether a file exists, as far as this machine knows; True only if it does.  Raises StoreError.

    Over NFS, `open` asks the server, and `exists` may answer from a cache; both may miss a name that was not found
    shortly before.
    """
    with disk_errors("read", path):
        try:
            os.close(os.open(path, os.O_RDONLY))
        except FileNotFoundError:
            return False
    return True


def server_time(folder: Path) -> float:
    """The time in seconds of the clock that stamps a folder's files; clocks of hosts differ.  Raises StoreError."""
    with beside(folder / "clock", b"now") as temporary:
        return os.stat(temporary).st_mtime


def clock_offset(folder: Path) -> float:
    """The clock that stamps a folder's files, minus this machine's clock, in seconds.  Raises StoreError."""
    before = time.time()
    stamp = server_time(folder)
    after = time.time()
    return 0.0 if before <= stamp <= after else stamp - (after if stamp > after else before)


def read(path: Path) -> bytes | None:
    """The content of a file; None if it does not exist.  Raises StoreError if it cannot be read."""
    with disk_errors("read", path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def names(folder: Path) -> list[str]:
    """The names in a folder, sorted, without temporary files; [] if there is no folder.  Raises StoreError."""
    with disk_errors("read", folder):
        try:
            return sorted(name for name in os.listdir(folder) if not name.startswith("."))
        except FileNotFoundError:
            return []


@contextlib.contextmanager
def disk_errors(verb: str, path: Path) -> Iterator[None]:
    """Turns an OSError inside into a StoreError: the operation, the path, and the way out."""
    try:
        yield
    except OSError as error:
        raise _store_error(verb, path, error) from error


def _store_error(verb: str, path: Path, error: OSError) -> StoreError:
    if verb == "write" and error.errno == errno.ENOENT:  # make_folder has made all folders that can be made
        advice = "no folder can be made there; choose another one with store=FOLDER"
    elif error.errno == errno.ESTALE:
        advice = "the file server has lost track of it; give the same command again"
    else:
        advice = _ADVICE.get(error.errno or 0, f"{error.strerror or error}; make it readable and writable")
        advice = f"{advice} {_ELSEWHERE}"
    kind = StoreFault if error.errno in _PASSING else StoreError
    return kind(f"Cannot {verb} {path}: {advice}.")


def _fill(file: BinaryIO, content: Content) -> None:
    if not callable(content):
        file.write(content)
        return
    try:
        content(file)
    except RuntimeError as error:
        # torch.save reports a full disk as a RuntimeError with the OSError as its context.
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None
        raise
