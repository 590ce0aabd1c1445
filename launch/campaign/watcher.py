"""Ends the commands of a campaign that was killed, with all of their processes.

The campaign starts this file as a further process, and names to it the groups of processes that run. If the campaign
ends, even by SIGKILL, the pipe between them closes: groups that are left get SIGTERM when their first process has
ended, and SIGKILL after `SECONDS`. Then it ends NVIDIA's multi-process service, if the campaign started it.
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
CONTROL, PIPE = "nvidia-cuda-mps-control", "CUDA_MPS_PIPE_DIRECTORY"
"""The command of NVIDIA's service, and the environment variable with its folder."""


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

    def service(self, folder: str) -> None:
        """The service of this folder runs; "": it has ended."""
        self._say(f"={folder}\n")

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


def left(lines: Iterable[str]) -> tuple[set[int], str]:
    """The groups that were added and not removed, and the folder of the service, or ""."""
    groups, service = set[int](), ""
    for line in lines:
        if line[0] == "=":
            service = line[1:].strip()
        else:
            (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    return groups, service


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


def main() -> None:
    """The process that watches."""
    groups, service = left(sys.stdin)
    end(groups)
    if service:
        with suppress(OSError):
            subprocess.run([CONTROL], env={**os.environ, PIPE: service}, input=b"quit\n", capture_output=True)


if __name__ == "__main__":
    main()
