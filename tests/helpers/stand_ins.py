"""Slurm's commands as small scripts, which print what the real ones do (22.05)."""

import os
import stat
from pathlib import Path


def put_on_path(monkeypatch, folder: Path, **scripts: str) -> None:
    """Puts commands first on PATH, each a shell script."""
    folder.mkdir(exist_ok=True)
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def prints(*lines: str) -> str:
    """A script that prints lines."""
    return "\n".join(["cat <<'END'", *lines, "END"])


def fails(message: str) -> str:
    """A script that ends with an error."""
    return f"echo '{message}' >&2; exit 1"
