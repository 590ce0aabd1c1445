"""The companion process as a worker sees it: lines that it is sent without waiting, and its answers."""

import contextlib
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from launch.tracking.messages import Answer, order_line, read_answer

CHECKOUT = Path(__file__).resolve().parents[2]
_BACKLOG = 10_000
"""Orders that may wait; a companion that is further behind is given up."""


class Connection:
    """A companion process and two threads: one writes orders to its stdin, one reads answers from its stdout.

    hear: called with each answer. ended: called when the process has ended, with the last line of its stderr. Both are
    called in the thread that reads. heard: when the last answer came, by time.monotonic().
    """

    def __init__(self, command: Sequence[str], hear: Callable[[Answer], None], ended: Callable[[str], None]) -> None:
        """Starts the process.  Raises OSError."""
        self._hear, self._ended = hear, ended
        self._orders: queue.Queue[str | None] = queue.Queue(_BACKLOG)
        self._stderr = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.heard = time.monotonic()
        self.process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            process_group=0,  # a group of its own: Ctrl-C in a terminal is meant for the worker
        )
        threading.Thread(target=self._send, args=(self.process.stdin,), daemon=True).start()
        self._listener = threading.Thread(target=self._listen, args=(self.process.stdout,), daemon=True)
        self._listener.start()

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def send(self, order: str, *content: object) -> None:
        """Puts an order behind those that the process has not read yet.  Raises queue.Full."""
        self._orders.put_nowait(order_line(order, *content))

    def wait(self, patience: float, lost: Callable[[], bool]) -> bool:
        """Waits until the process has carried out all orders and ended.  Returns whether it has.

        patience: seconds without an answer after which it is given up. lost: whether it has been given up meanwhile.
        """
        with contextlib.suppress(queue.Full):
            self._orders.put_nowait(None)
        self.heard = time.monotonic()
        while self.running and not lost() and time.monotonic() - self.heard < patience:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=0.2)
        return not self.running

    def close(self) -> None:
        """Ends the process, if it runs, and waits until its last answer has been heard."""
        self.kill()
        self.process.wait()
        self._listener.join()

    def kill(self) -> None:
        """Kills the process, if it runs."""
        if self.running:
            self.process.kill()

    def _send(self, stdin: IO[str]) -> None:
        # A broken pipe means that the process has ended: the thread that listens notices that.
        with contextlib.suppress(OSError), stdin:
            while (line := self._orders.get()) is not None:
                stdin.write(line)
                stdin.flush()

    def _listen(self, stdout: IO[str]) -> None:
        with stdout, self._stderr:
            for line in stdout:
                self.heard = time.monotonic()
                self._hear(read_answer(line))
            self._stderr.seek(0)
            last = self._stderr.read().strip().splitlines()[-1:]
            self._ended("".join(last))
