"""The account that a process runs under: in containers it may have neither a home nor a name."""

import contextlib
import functools
import os
import stat
import tempfile
from pathlib import Path

from plasticity_lab.errors import ConfigError

NAMES = ("LOGNAME", "USER", "LNAME", "USERNAME")
"""The environment variables by which Python names the user, before it looks into the list of accounts."""


def settle_account() -> None:
    """Gives a process without a home or a name one: libraries, and programs that it starts, take them for granted.

    Where the account is not in the system's list and no HOME is set, a folder of its own for temporary files is its
    home from now on. With a home and a name this changes nothing.
    """
    if not os.environ.get("HOME") and os.path.expanduser("~") in ("~", "/"):
        os.environ["HOME"] = _temporary_home()
    if not any(os.environ.get(name) for name in NAMES):
        name = user_name()
        if name == str(os.getuid()):
            os.environ["LOGNAME"] = name


def user_name() -> str:
    """The name of who gives the command, as the system has it; the number of an account that is not in its list."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def cache_folder() -> Path:
    """Where the user's programs keep what they can make again: XDG_CACHE_HOME, else .cache in the home."""
    settle_account()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()


def expanded(folder: str | os.PathLike[str]) -> Path:
    """The folder with ~ and ~NAME replaced by homes.  Raises ConfigError where there is no NAME."""
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
    """A folder for temporary files that is the account's alone: the same at each command, unless others have taken it.

    What is kept there is code that is executed later: nobody else may have put it there.
    """
    folder = Path(tempfile.gettempdir()) / f"plasticity_lab_{os.getuid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return str(folder)
    return tempfile.mkdtemp(prefix="plasticity_lab_")
