"""One command of a campaign: run until it ends or its time is up. It never outlives the campaign."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

GRACE_SECONDS = 25.0
"""From the request to stop until the kill: workers write their checkpoints."""
POLL_SECONDS = 0.2
STOPPED = "stopped"
_PARENT_DIES = 1
"""prctl's number of PR_SET_PDEATHSIG."""


def run(
    words: Sequence[str],
    env: Mapping[str, str],
    log: Path,
    until: float,
    stop: Callable[[], bool],
    grace: float = GRACE_SECONDS,
) -> int | str:
    """The exit status of a command, or `STOPPED` if its time was up or `stop` said so.

    until: it is asked to stop, as by Ctrl-C, when `time.monotonic` reaches this. After `grace` seconds its processes
    are killed. Its output is appended to the log.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        file.write(f"\n$ {' '.join(words)}\n".encode())
        file.flush()
        try:
            process = subprocess.Popen(
                words, env=dict(env), stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                start_new_session=True, preexec_fn=_ends_with_parent,
            )  # fmt: skip
        except OSError as error:
            file.write(f"{error}\n".encode())
            return 127
        try:
            while process.poll() is None and time.monotonic() < until and not stop():
                time.sleep(POLL_SECONDS)
            ended = process.poll()
            if ended is not None:
                return ended
            os.kill(process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(grace)
            return STOPPED
        finally:
            _kill(process)


def _ends_with_parent() -> None:
    """In the new process: Ctrl-C works, and the end of the campaign's process, even by a kill, is a SIGTERM."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PARENT_DIES, signal.SIGTERM)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
