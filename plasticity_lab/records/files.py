"""The one way to write: a complete file beside its place, then renamed or linked there. Readers never see half a file.

Safe for many writers on a shared file system without locks: a rename replaces, a link happens once.
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
_PASSING = {
    getattr(errno, name)
    for name in (
        "EAGAIN EBUSY ECONNABORTED ECONNREFUSED ECONNRESET EDQUOT EHOSTDOWN EHOSTUNREACH EINTR EIO EMFILE ENETDOWN "
        "ENETUNREACH ENFILE ENODEV ENOLINK ENOMEM ENOSPC ENOTCONN EREMOTEIO EROFS ESHUTDOWN ESTALE ETIMEDOUT"
    ).split()
    if hasattr(errno, name)
}
"""What a disk or its server reports while it is full, read-only or away, and no longer once somebody has seen to it."""
_UNFINISHED = (".tmp", ".link", ".look")
"""How the names of files end that stand for moments only; all begin with a dot."""
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class StoreFault(StoreError):
    """A disk that is full, read-only or away: nothing is wrong with what was asked of it, and it may work again."""


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
            try:
                return os.path.samestat(os.stat(temporary), os.stat(path))
            except FileNotFoundError:  # whoever had the name has given it up
                return False
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
    """Removes what processes were writing in a folder when they were killed; files that cannot be removed stay.

    before: only what was last written before this time, by the server's clock. Others may be at work in the folder,
    unless it is theirs who ask, as the folders of a run are of who holds its pack.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for file in found:
            if file.name.startswith(".") and file.name.endswith(_UNFINISHED):
                with contextlib.suppress(OSError):
                    if file.stat(follow_symlinks=False).st_mtime < before:
                        os.unlink(file)


def make_folder(folder: Path) -> None:
    """Makes a folder, and those above it that are missing, each open to the group of the one above it as `share` says.

    Raises OSError.
    """
    try:
        folder.mkdir()
    except FileNotFoundError:
        if folder.parent.is_dir():  # /proc, for example, takes no folders
            raise
        make_folder(folder.parent)
        make_folder(folder)
    except OSError:  # not every file system says of a folder that it is there already
        if not folder.is_dir():
            raise
    else:
        share(folder, folder.parent)


def share(new: int | Path, folder: Path) -> None:
    """Opens a new file or folder to the group of its folder where that group may write, whatever the umask.

    Folders in which everybody may write, such as /tmp, are shared by nobody.  Raises OSError.
    """
    there = os.stat(folder)
    if not there.st_mode & stat.S_IWGRP or there.st_mode & stat.S_IWOTH:
        return
    now = os.stat(new)
    if now.st_gid != there.st_gid:
        try:
            os.chown(new, -1, there.st_gid)
        except OSError:
            return  # its maker is not in that group, or the file system knows none
    wanted = stat.S_IMODE(now.st_mode) | stat.S_IRGRP | stat.S_IWGRP
    if stat.S_ISDIR(now.st_mode):
        wanted |= stat.S_IXGRP | there.st_mode & stat.S_ISGID
    if wanted != stat.S_IMODE(now.st_mode):
        with contextlib.suppress(PermissionError):
            os.chmod(new, wanted)


def stands(path: Path) -> bool:
    """Whether a file is there now, by the server's word.  Raises StoreError.

    Over NFS a name that was looked for and not found stays "not found" for up to a minute. A client that makes a file
    in a folder learns what else has changed there, and asks again.
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
    """Whether a file is there, as far as this machine knows; a file that is there is always found.  Raises StoreError.

    Over NFS opening asks the server where `exists` may answer from a cache, unless the name was not found lately.
    """
    with disk_errors("read", path):
        try:
            os.close(os.open(path, os.O_RDONLY))
        except FileNotFoundError:
            return False
    return True


def server_time(folder: Path) -> float:
    """Now by the clock that stamps the files of a folder, in seconds; hosts' own clocks differ.  Raises StoreError."""
    with beside(folder / "clock", b"now") as temporary:
        return os.stat(temporary).st_mtime


def clock_offset(folder: Path) -> float:
    """By how many seconds the clock that stamps a folder's files is ahead of this machine's.  Raises StoreError."""
    before = time.time()
    stamp = server_time(folder)
    after = time.time()
    return 0.0 if before <= stamp <= after else stamp - (after if stamp > after else before)


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
    if verb == "write" and error.errno == errno.ENOENT:  # make_folder has made all folders that can be made
        advice = "no folder can be made there; choose another one with store=FOLDER"
    kind = StoreFault if error.errno in _PASSING else StoreError
    return kind(f"Cannot {verb} {path}: {advice}.")


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
