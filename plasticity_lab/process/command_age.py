"""How long ago this process was given its command: what is said meanwhile, as by `cancel`, is about it too."""

import os
import time
from pathlib import Path

LONGEST_START_SECONDS = 120.0
"""A process that claims to be older when its first command begins is one whose clocks do not fit."""

_command_time = time.monotonic()


def command_begins(with_process: bool) -> None:
    """Notes that a command begins now; with_process: that it began when this process did, which imports first."""
    global _command_time
    _command_time = time.monotonic() - (_age_of_process() if with_process else 0.0)


def seconds_since_command() -> float:
    """How long ago the command was given."""
    return time.monotonic() - _command_time


def _age_of_process() -> float:
    """Seconds since this process was started; 0 where that does not show."""
    try:
        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        age = float(Path("/proc/uptime").read_text().split()[0]) - started
    except (OSError, IndexError, ValueError):
        return 0.0
    return age if 0 <= age <= LONGEST_START_SECONDS else 0.0
