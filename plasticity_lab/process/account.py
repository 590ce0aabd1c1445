"""The account of a process: in containers it may have neither a home nor a name."""

import contextlib
import functools
import os
import stat
import tempfile
from pathlib import Path

from plasticity_lab.errors import ConfigError

NAMES = ("LOGNAME", "USER", "LNAME", "USERNAME")
"""Environment variables that Python reads for the user's name, before it asks the list of accounts."""


def settle_account() -> None:
    """Gives a process a home and a name if it has none: libraries, and programs that it starts, need them.

    If the account is not in the system's list and no HOME is set, its home becomes a private temporary folder. With a
    home and a name this changes nothing.
    """
    if not os.environ.get("HOME") and os.path.expanduser("~") in ("~", "/"):
        os.environ["HOME"] = _temporary_home()
    if not any(os.environ.get(name) for name in NAMES):
        name = user_name()
        if name == str(os.getuid()):
            os.environ["LOGNAME"] = name


def user_name() -> str:
    """The user's name in the system's list of accounts; the number of an account that is not in the list."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def cache_folder() -> Path:
    """The folder of the user's caches: XDG_CACHE_HOME, or .cache in the home if that is not set."""
    settle_account()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()


def expanded(folder: str | os.PathLike[str]) -> Path:
    """The folder with ~ and ~NAME replaced by homes.  Raises ConfigError if there is no account NAME."""
    settle_account()
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:
        name = Path(folder).parts[0]
        raise ConfigError(
            f"{folder}: there is no account {name[1:]} here; write the whole path, or ./{name}."
        ) from error


@functools.cache
def _temporary_home() -> str:
    """A temporary folder that only this account may write to: the same for each command, unless others own it.

    It keeps code that is executed later, so no other user may have written it.
    """
    folder = Path(tempfile.gettempdir()) / f"plasticity_lab_{os.getuid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022:
            return str(folder)
    return tempfile.mkdtemp(prefix="plasticity_lab_")
