"""Slurm's commands as small scripts, which print what the real ones do (22.05)."""

import os
import stat
from pathlib import Path

COLUMN = "\x1f"
BETWEEN = """for word; do
    case $word in
        --format=*%*) between=${word#--format=}; between=${between%%\\%*} ;;
        --delimiter=*) between=${word#--delimiter=} ;;
    esac
done"""
"""The beginning of a squeue or sacct: $between is what its caller wants between columns."""


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


def tells(*rows: str) -> str:
    """A script that prints rows of squeue or sacct, whose columns it parts by what it is asked to put between them."""
    return "\n".join([BETWEEN, f"sed \"s/{COLUMN}/$between/g\" <<'END'", *rows, "END"])


def row_of_squeue(*columns: str) -> str:
    """A job as squeue tells it, where each column begins with what was asked for; a column may have line breaks."""
    return "".join(f"{COLUMN}{column}" for column in columns)


def row_of_sacct(*columns: str) -> str:
    """A job, or a step of one, as sacct tells it."""
    return COLUMN.join(columns)


def fails(message: str) -> str:
    """A script that ends with an error."""
    return f"echo '{message}' >&2; exit 1"
