"""One command of a campaign: it runs until it ends or its time is up, and never outlives the campaign."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from launch.campaign.watcher import NOTHING, Watch

GRACE_SECONDS = 25.0
"""From the request to stop until the kill: workers write their checkpoints."""
POLL_SECONDS = 0.2
STOPPED = "stopped"
_PARENT_DIES = 1
"""prctl's number of PR_SET_PDEATHSIG."""


class Command:
    """A command that runs while the campaign does other things.

    until: it is asked to stop, as by Ctrl-C, when `time.monotonic` reaches this. After `grace` seconds its processes
    are killed. Its output is appended to the log. watch: ends its processes after a kill of the campaign.
    """

    def __init__(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        until: float,
        grace: float = GRACE_SECONDS,
        watch: Watch = NOTHING,
    ) -> None:
        self._until, self._grace, self._watch = until, grace, watch
        self._asked: float | None = None
        self._process: subprocess.Popen[bytes] | None = None
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            file.write(f"\n$ {' '.join(words)}\n".encode())
            file.flush()
            try:
                self._process = subprocess.Popen(
                    words, env=dict(env), stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                    start_new_session=True, preexec_fn=ends_with_parent(),
                )  # fmt: skip
            except OSError as error:
                file.write(f"{error}\n".encode())
            else:
                watch.add(self._process.pid)

    def status(self, stop: bool) -> int | str | None:
        """Its exit status; `STOPPED` if its time was up or `stop` said so; None while it runs. It does not wait."""
        if self._process is None:
            return 127
        ended, now = self._process.poll(), time.monotonic()
        if ended is not None:
            self.kill()
            return ended if self._asked is None else STOPPED
        if self._asked is None:
            if stop or now >= self._until:
                os.kill(self._process.pid, signal.SIGINT)
                self._asked = now
        elif now >= self._asked + self._grace:
            self.kill()
            return STOPPED
        return None

    def kill(self) -> None:
        """Kills all of its processes that are left."""
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._watch.remove(self._process.pid)


def run(
    words: Sequence[str],
    env: Mapping[str, str],
    log: Path,
    until: float,
    stop: Callable[[], bool],
    grace: float = GRACE_SECONDS,
    watch: Watch = NOTHING,
) -> int | str:
    """Waits for a `Command`; returns its status."""
    command = Command(words, env, log, until, grace, watch)
    try:
        while (status := command.status(stop())) is None:
            time.sleep(POLL_SECONDS)
        return status
    finally:
        command.kill()


def ends_with_parent() -> Callable[[], None]:
    """For a new process (`preexec_fn`): Ctrl-C works, and the end of this process, even by a kill, is its SIGTERM."""
    parent = os.getpid()

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PARENT_DIES, signal.SIGTERM)
        if os.getppid() != parent:  # it has ended before
            os._exit(1)

    return prepare
