"""Ends the commands of a campaign that was killed, with all of their processes.

The campaign starts this file as a further process, and names to it the groups of processes that run. If the campaign
ends, even by SIGKILL, the pipe between them closes: groups that are left get SIGTERM when their first process has
ended, and SIGKILL after `SECONDS`.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

SECONDS = 25.0
"""The limit for commands that stop by themselves: they have got a SIGTERM, and their workers write checkpoints."""
POLL_SECONDS = 0.1


class Watch:
    """The campaign's end of the pipe.  to: None watches nothing."""

    def __init__(self, to: IO[bytes] | None) -> None:
        self._to = to

    def add(self, group: int) -> None:
        """This group of processes runs; it has the number of its first process."""
        self._say(f"+{group}\n")

    def remove(self, group: int) -> None:
        """This group has ended."""
        self._say(f"-{group}\n")

    def _say(self, line: str) -> None:
        if self._to is not None:
            with suppress(OSError):  # a watcher that was killed watches nothing
                self._to.write(line.encode())
                self._to.flush()


NOTHING = Watch(None)


@contextmanager
def watched() -> Iterator[Watch]:
    """Inside, a watcher runs."""
    words = [sys.executable, "-S", str(Path(__file__))]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield Watch(process.stdin)
    finally:
        with suppress(OSError):
            process.communicate()


def left(lines: Iterable[str]) -> set[int]:
    """The groups that were added and not removed."""
    groups = set[int]()
    for line in lines:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    return groups


def end(groups: set[int], seconds: float = SECONDS) -> None:
    """Waits until these groups have ended, and ends those that do not."""
    until, asked = time.monotonic() + seconds, set[int]()
    while groups and time.monotonic() < until:
        for group in list(groups):
            if not _signalled(group, 0):
                groups.discard(group)
            elif group not in asked and _has_ended(group):
                asked.add(group)
                _signalled(group, signal.SIGTERM)
        time.sleep(POLL_SECONDS)
    for group in groups:
        _signalled(group, signal.SIGKILL)


def _signalled(group: int, number: int) -> bool:
    """Sends a signal to a group; whether there is one."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _has_ended(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


if __name__ == "__main__":
    end(left(sys.stdin))
