"""Where numbers come from: the code, the libraries and the machine that made them."""

import argparse
import functools
import hashlib
import os
import platform
import socket
import subprocess
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from plasticity_lab import __version__

CHECKOUT = Path(__file__).resolve().parents[2]
_PACKAGES = {"plasticity_lab": "plasticity-lab", "torch": "torch", "numpy": "numpy", "hydra-core": "hydra-core"}


def provenance(packages: Collection[str] = ()) -> dict[str, Any]:
    """Commit and dirtiness of the checkout, versions, python, host, platform, cpu, and now as `start` (UTC, ISO 8601).

    packages: Python packages whose versions are named too, null where one is not there. commit and dirty are null where
    the package runs from no git checkout, or git is missing. All but `start` and the versions of `packages` is looked
    up once a process. Who trains adds device, job, pack, width, mode, end, seconds and share.
    """
    machine = _machine()
    versions = machine["versions"] | {name: version_of(name) for name in packages}
    return {**_commit(), **machine, "versions": versions, "start": utc_now()}


def utc_now() -> str:
    """Now, as records write it: 2026-01-31T12:00:00+00:00."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@functools.cache
def _commit() -> dict[str, Any]:
    top = git("rev-parse", "--show-toplevel")
    # Installed into an environment inside somebody else's repository, that repository's commit would say nothing.
    if top is None or Path(top).resolve() != CHECKOUT:
        return {"commit": None, "dirty": None}
    commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def git(*arguments: str) -> str | None:
    """What git answers about the checkout, or None."""
    try:
        return _asked(*arguments)
    except (OSError, subprocess.SubprocessError):
        return None


def why_no_commit() -> str:
    """Why records cannot name the commit of the code that runs here, and what would mend it; a part of a sentence."""
    try:
        top = _asked("rev-parse", "--show-toplevel")
        if Path(top).resolve() == CHECKOUT:
            _asked("rev-parse", "--verify", "HEAD")
    except FileNotFoundError:
        return "git is not installed here"
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip()
        if "dubious ownership" in said:
            return (
                "it is a git checkout of another user, which git does not read; "
                f"`git config --global --add safe.directory {CHECKOUT}` lets it"
            )
        if "not a git repository" not in said:
            return f"git says: {said.splitlines()[0] if said else error}"
    except (OSError, subprocess.SubprocessError) as error:
        return f"git does not answer ({error})"
    return "it is no git checkout"


def _asked(*arguments: str) -> str:
    """What git answers about the checkout. Many workers start at once, so none may take the index lock.

    Raises OSError, SubprocessError.
    """
    # In English, since one of its answers is read.
    command = ["git", "--no-optional-locks", "-C", str(CHECKOUT), *arguments]
    words = os.environ | {"LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True, env=words).stdout.strip()


@functools.cache
def _machine() -> dict[str, Any]:
    return {
        "versions": {name: version_of(package) for name, package in _PACKAGES.items()},
        "python": platform.python_version(),
        "host": socket.gethostname(),
        "platform": platform.platform(),
        "cpu": cpu_model(),
    }


def version_of(package: str) -> str | None:
    """The installed version of a Python package; None where it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def cpu_model() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


_FOLDERS = ("plasticity_lab", "launch", "conf")
"""Where changes can change a run."""


@functools.cache
def code_here() -> dict[str, str | None]:
    """`commit`, and under `changes` a hash of what differs from it in files that count, null where nothing does.

    commit is null, and so is changes, where the package runs from no git checkout, or git is missing.
    """
    commit = provenance()["commit"]
    if commit is None:
        return {"commit": None, "changes": None}
    new = git("ls-files", "--others", "--exclude-standard", "--", *_FOLDERS) or ""
    parts = [git("diff", "HEAD", "--binary", "--", *_FOLDERS) or ""]
    parts += [f"{path} {_hash_of_file(path)}" for path in new.splitlines()]
    return {"commit": commit, "changes": _hash("\n".join(parts).encode()) if any(parts) else None}


def other_code(planned: Mapping[str, str | None], sweep: str) -> str | None:
    """A sentence that says that a sweep was planned by other code than runs here; None where it was not, or who knows.

    planned: as `code_here` had it then.
    """
    here = code_here()
    if planned.get("commit") is None or here["commit"] is None or dict(planned) == here:
        return None
    return (
        f"Sweep {sweep} was planned by {_in_words(planned)}, and this worker runs {_in_words(here)}: its runs may come "
        "from different code. Each record names the commit that made it; to train with one code only, cancel the sweep "
        "and give its command again once its jobs have ended."
    )


def _in_words(code: Mapping[str, str | None]) -> str:
    changes = code.get("changes")
    return f"commit {str(code['commit'])[:12]}{f' with changes ({changes})' if changes else ''}"


def _hash_of_file(path: str) -> str:
    try:
        return _hash((CHECKOUT / path).read_bytes())
    except OSError:
        return "cannot be read"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def version_line() -> str:
    """«plasticity_lab 0.1.0 (commit 23e4bc2…, with changes)»; the version alone where this is no git checkout."""
    made = provenance()
    if made["commit"] is None:
        return f"plasticity_lab {__version__}"
    return f"plasticity_lab {__version__} (commit {made['commit']}{', with changes' if made['dirty'] else ''})"


class ShowVersion(argparse.Action):
    """The flag --version of an argument parser: prints the line and ends, as --help does; asks git only then."""

    def __init__(self, option_strings: list[str], dest: str, **_: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and the commit, and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Called by argparse where the flag is given."""
        print(version_line())
        parser.exit()
