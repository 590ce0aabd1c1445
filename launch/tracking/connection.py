"""A worker and its companion process: the messages between them, and the worker's end of the connection.

Each message is a line of JSON: the worker sends [order, its arguments], and the companion answers with an `Answer`.
"""

import contextlib
import json
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from plasticity_lab.records.measures import Measures
from plasticity_lab.run import Run

CHECKOUT = Path(__file__).resolve().parents[2]
_BACKLOG = 10_000
"""Orders that may wait; a companion further behind is given up."""
BEGIN = "begin"
"""Open these runs (a list of what `described` returns): they are followed while they train."""
ROWS = "rows"
"""Write these rows (run id → rows) to open runs."""
STATE = "state"
"""Show this state in open runs: "compiling", "waiting", "training"."""
FINISH = "finish"
"""Write these runs (a list of run ids) from their records."""
LEAVE = "leave"
"""Close the open runs: their training was interrupted, and they have no records."""


@dataclass(frozen=True)
class Answer:
    """The companion's report on an order; an empty one is a sign of life.

    finished: whether an order to finish runs has been carried out. failed: run id → why it could not be written.
    not_live: why the open runs are no longer followed. error: why an order could not be understood.
    """

    finished: bool = False
    failed: Mapping[str, str] = field(default_factory=dict)
    not_live: str = ""
    error: str = ""


def described(run: Run, measures: Measures) -> dict[str, Any]:
    """A run in training, with these keys of its future record: run (its id), science, asked_as, measures."""
    return {"run": run.id, "science": run.science, "asked_as": list(run.asked_as), "measures": measures.as_json()}


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
            process_group=0,  # Ctrl-C in a terminal is meant for the worker alone
        )
        threading.Thread(target=self._send, args=(self.process.stdin,), daemon=True).start()
        self._listener = threading.Thread(target=self._listen, args=(self.process.stdout,), daemon=True)
        self._listener.start()

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def send(self, order: str, *content: object) -> None:
        """Queues an order.  Raises queue.Full."""
        self._orders.put_nowait(f"{json.dumps([order, content])}\n")

    def wait(self, patience: float, lost: Callable[[], bool]) -> bool:
        """Waits until the process has carried out all orders and ended.  Returns whether it has.

        patience: it is given up after this many seconds without an answer. lost: whether it was given up during the
        wait.
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
        # A broken pipe means that the process has ended; the reading thread notices that.
        with contextlib.suppress(OSError), stdin:
            while (line := self._orders.get()) is not None:
                stdin.write(line)
                stdin.flush()

    def _listen(self, stdout: IO[str]) -> None:
        with stdout, self._stderr:
            for line in stdout:
                self.heard = time.monotonic()
                self._hear(Answer(**json.loads(line)))
            self._stderr.seek(0)
            last = self._stderr.read().strip().splitlines()[-1:]
            self._ended("".join(last))
