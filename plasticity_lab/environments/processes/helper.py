"""A process that steps a share of the copies, as the process that has started it sees it."""

import os
import pickle
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from plasticity_lab.errors import HelperLost
from plasticity_lab.named_code import python_path

COMMAND = (sys.executable, "-m", "plasticity_lab.environments.processes")
SECONDS_TO_END = 5.0
"""How long one whose pipe is closed may take to end before it is killed."""


class Helper:
    """It ends with this object, and with this process, however that ends.  file: what it shares with others."""

    def __init__(self, file: int) -> None:
        self._line, theirs = Pipe()
        with theirs:
            # No fork: this process may have threads. Nothing of it is imported there but what steps bodies.
            self.process = subprocess.Popen(
                [*COMMAND, str(theirs.fileno()), str(file)],
                pass_fds=(theirs.fileno(), file),
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": python_path(), "PYTHONSAFEPATH": "1"},
            )
        self._end = weakref.finalize(self, _end, self._line, self.process)

    def ask(self, *words: Any) -> None:
        """Asks for something; what it answers must be fetched before anything else is asked.  Raises HelperLost."""
        with self._alive():
            self._line.send_bytes(pickle.dumps(words))  # `send` has a pickler that takes 20 times as long

    def answer(self) -> Any:
        """What it answers; raises what it has raised, and HelperLost."""
        with self._alive():
            found, error, trace = pickle.loads(self._line.recv_bytes())
        if error is not None:
            raise error from Elsewhere(trace)
        return found

    @contextmanager
    def _alive(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, OSError) as error:  # a pipe ends with the process at its other end
            self._end()
            raise HelperLost(f"A process that steps environments {_how(self.process.returncode)}.") from error


class Elsewhere(Exception):
    """The traceback of another process, as text: its frames cannot be sent."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def _how(status: int) -> str:
    if status >= 0:
        return f"has ended with status {status}"
    often = ", as happens where memory runs out" if status == -signal.SIGKILL else ""
    return f"was ended by {signal.Signals(-status).name}{often}"


def _end(line: Connection, process: subprocess.Popen[bytes]) -> None:
    line.close()
    try:
        process.wait(timeout=SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
