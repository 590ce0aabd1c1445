"""The origin of numbers: the code, the libraries and the machine that made them; and the line of `--version`.

Python reads a module when it is first needed. A user may edit a clone, or check out another commit, while a sweep waits
in a queue. Then some of its runs use other code than the rest. So a plan stores its code, and workers compare it.
"""

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
_FOLDERS = ("plasticity_lab", "launch", "conf")
"""The folders with code or options that can change a run."""


def provenance(packages: Collection[str] = ()) -> dict[str, Any]:
    """Commit and dirtiness of the checkout, versions, python, host, platform, cpu, and now as `start` (UTC, ISO 8601).

    packages: further Python packages to list under `versions`, null if one is not installed. commit and dirty are null
    if the package runs from no git checkout, or git is missing. Only `start` and the versions of `packages` are looked
    up at each call. The trainer adds device, job, pack, width, mode, end, seconds and share.
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
    # In an environment inside another repository, that repository's commit would be wrong.
    if top is None or Path(top).resolve() != CHECKOUT:
        return {"commit": None, "dirty": None}
    commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def git(*arguments: str) -> str | None:
    """The answer of git about the checkout, or None."""
    try:
        return _git(*arguments)
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    """The answer of git about the checkout, in English.  Raises OSError, SubprocessError.

    Many workers start at the same time, so none may take the index lock.
    """
    command = ["git", "--no-optional-locks", "-C", str(CHECKOUT), *arguments]
    environment = os.environ | {"LC_ALL": "C"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=20, check=True, env=environment
    ).stdout.strip()


def why_no_commit() -> str:
    """The reason why records cannot name the commit of this code, and the remedy; a part of a sentence."""
    try:
        top = _git("rev-parse", "--show-toplevel")
        if Path(top).resolve() == CHECKOUT:
            _git("rev-parse", "--verify", "HEAD")
    except FileNotFoundError:
        return "git is not installed here"
    except subprocess.CalledProcessError as error:
        answer = error.stderr.strip()
        if "dubious ownership" in answer:
            return (
                "it is a git checkout of another user, which git does not read; "
                f"`git config --global --add safe.directory {CHECKOUT}` lets it"
            )
        if "not a git repository" not in answer:
            return f"git says: {answer.splitlines()[0] if answer else error}"
    except (OSError, subprocess.SubprocessError) as error:
        return f"git does not answer ({error})"
    return "it is no git checkout"


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
    """The installed version of a Python package; None if it is not installed."""
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


@functools.cache
def code_here() -> dict[str, str | None]:
    """`commit`, and `changes`: a hash of the differences from it in files that count, null without differences.

    Both are null if the package runs from no git checkout, or git is missing.
    """
    commit = _commit()["commit"]
    if commit is None:
        return {"commit": None, "changes": None}
    new = git("ls-files", "--others", "--exclude-standard", "--", *_FOLDERS) or ""
    parts = [git("diff", "HEAD", "--binary", "--", *_FOLDERS) or ""]
    for path in new.splitlines():
        try:
            parts.append(f"{path} {_hash((CHECKOUT / path).read_bytes())}")
        except OSError:
            parts.append(f"{path} cannot be read")
    return {"commit": commit, "changes": _hash("\n".join(parts).encode()) if any(parts) else None}


def other_code(planned: Mapping[str, str | None], sweep: str) -> str | None:
    """A message that a sweep was planned by other code than runs here; None if it was not, or if that is unknown.

    planned: `code_here` at the time of planning.
    """
    here = code_here()
    if planned.get("commit") is None or here["commit"] is None or dict(planned) == here:
        return None
    then, now = (
        f"commit {str(code['commit'])[:12]}{f' with changes ({changes})' if (changes := code.get('changes')) else ''}"
        for code in (planned, here)
    )
    return (
        f"Sweep {sweep} was planned by {then}, and this worker runs {now}: its runs may come "
        "from different code. Each record names the commit that made it; to train with one code only, cancel the sweep "
        "and give its command again once its jobs have ended."
    )


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


class ShowVersion(argparse.Action):
    """The flag --version of an argument parser: prints the version and ends, as --help does; asks git only then.

    «plasticity_lab 0.1.0 (commit 23e4bc2…, with changes)»; only the version outside of a git checkout.
    """

    def __init__(self, option_strings: list[str], dest: str, **_: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and the commit, and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Called by argparse for the flag."""
        print(version_line())
        parser.exit()


def version_line() -> str:
    """The line that --version prints."""
    code = _commit()
    if code["commit"] is None:
        return f"plasticity_lab {__version__}"
    return f"plasticity_lab {__version__} (commit {code['commit']}{', with changes' if code['dirty'] else ''})"
