"""Copies of an environment in several processes, with the interface of a single simulation.

Legend: M copies, E copies that start an episode, D a frame's shape (`Body.frame`), A numbers of a continuous action.

This process steps a share of them too. Actions and results pass through memory that all processes share. A pipe to each
helper carries requests; it closes when the helper ends, so no process waits for one that has ended.
"""

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Body, Saved
from plasticity_lab.environments.processes.share import Share, Shared
from plasticity_lab.errors import HelperLost
from plasticity_lab.named_code import python_path


class InProcesses:
    """M copies of a body, stepped by several processes: a `FrictionSimulation` with the same bits as one process.

    body: can be pickled. processes: this one and its helpers; no more than copies. An error in one of them is raised
    here after all have finished the request. HelperLost is raised if a helper has ended; the copies are then useless.
    """

    def __init__(self, body: Body, copies: int, processes: int) -> None:
        edges = np.linspace(0, copies, min(processes, copies) + 1).astype(int).tolist()
        *theirs, own = [slice(*edges[at : at + 2]) for at in range(len(edges) - 1)]
        file = _file_without_name()
        try:
            self._shared = Shared(file, body, copies)
            self._own = Share(body, own, self._shared)  # first: if it cannot be built, no helper is started
            self._helpers = [(Helper(file), share) for share in theirs]
        finally:
            os.close(file)
        pickled = pickle.dumps(body)
        self._together([("build", pickled, share, copies) for _, share in self._helpers], lambda: None)

    @property
    def helpers(self) -> list[int]:
        """The ids of the helper processes."""
        return [helper.process.pid for helper, _ in self._helpers]

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[Any]:
        """Starts an episode in these copies (E,), each in its process; returns their observations, (E, D)."""
        shares = [*(share for _, share in self._helpers), self._own.copies]
        asked = [np.flatnonzero((copies >= share.start) & (copies < share.stop)) for share in shares]
        words = [
            ("start", copies[there] - share.start, [streams[at] for at in there.tolist()]) if len(there) else None
            for there, share in zip(asked, shares, strict=True)
        ]
        *theirs, own = words
        found = self._together(theirs, lambda: None if own is None else self._own.simulation.start(*own[1:]))
        begun = np.concatenate([observations for observations in found if observations is not None])
        shown = np.empty_like(begun)
        shown[np.concatenate(asked)] = begun
        return shown

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_]]:
        """One step of every copy: observations (M, D), rewards (M,), which terminated (M,)."""
        shared, kind, shape = self._shared, actions.dtype.str, actions.shape[1:]
        shared.actions(slice(0, len(actions)), kind, shape)[...] = actions
        self._together([("step", kind, shape)] * len(self._helpers), lambda: self._own.step(kind, shape))
        return shared.observations.copy(), shared.rewards.copy(), shared.terminated.copy()

    def life_lost(self) -> NDArray[np.bool_]:
        """Which copies lost a life in the last step, (M,)."""
        return self._shared.life_lost.copy()

    def scale_friction(self, factors: NDArray[np.float64]) -> None:
        """Multiplies the friction of each copy (M,)."""
        own: Any = self._own.simulation
        theirs = [("scale_friction", factors[share]) for _, share in self._helpers]
        self._together(theirs, lambda: own.scale_friction(factors[self._own.copies]))

    def state(self) -> dict[str, Saved]:
        """The complete state that the next steps depend on, name → (M, ...), or bytes for each of the M."""
        states = self._together([("state",)] * len(self._helpers), self._own.simulation.state)
        return {name: _joined([state[name] for state in states]) for name in states[-1]}

    def load(self, state: Mapping[str, Saved]) -> None:
        """Goes back to what `state` gave."""
        of = [{name: value[share] for name, value in state.items()} for _, share in self._helpers]
        own = {name: value[self._own.copies] for name, value in state.items()}
        self._together([("load", each) for each in of], lambda: self._own.simulation.load(own))

    def _together(self, asked: Sequence[tuple[Any, ...] | None], own: Callable[[], Any]) -> list[Any]:
        """Sends each helper its request, does this process's part, and waits: all answers, this process's answer last.

        None: this helper receives no request, and its answer is None. Raises the first of the errors.
        """
        found, errors = list[Any](), list[Exception]()
        for (helper, _), words in zip(self._helpers, asked, strict=True):
            if words is not None:
                helper.ask(*words)
        try:
            here = own()
        except Exception as error:
            errors.append(error)
        for (helper, _), words in zip(self._helpers, asked, strict=True):
            try:
                found.append(None if words is None else helper.answer())
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return [*found, here]


def _joined(parts: Sequence[Any]) -> Saved:
    """The entries of one name from all processes, joined for all copies."""
    return list(chain(*parts)) if isinstance(parts[0], list) else np.concatenate(parts)


def _file_without_name() -> int:
    """A file in memory that disappears with the last process which has it open."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("environments")
    with tempfile.TemporaryFile() as file:  # systems that have no such files keep it on a disk
        return os.dup(file.fileno())


# A helper process that steps a share of the copies, from the view of the process that started it.

COMMAND = (sys.executable, "-m", "plasticity_lab.environments.processes")
SECONDS_TO_END = 5.0
"""Seconds for a helper to end after its pipe is closed, before it is killed."""


class Helper:
    """A helper process. It ends with this object, and with this process in any case.  file: the shared memory."""

    def __init__(self, file: int) -> None:
        self._line, theirs = Pipe()
        with theirs:
            # No fork: this process may have threads. The helper imports only the code that steps environments.
            self.process = subprocess.Popen(
                [*COMMAND, str(theirs.fileno()), str(file)],
                pass_fds=(theirs.fileno(), file),
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": python_path(), "PYTHONSAFEPATH": "1"},
            )
        self._end = weakref.finalize(self, _end, self._line, self.process)

    def ask(self, *words: Any) -> None:
        """Sends a request; its answer must be received before the next request.  Raises HelperLost."""
        with self._alive():
            self._line.send_bytes(pickle.dumps(words))  # `send` has a pickler that takes 20 times as long

    def answer(self) -> Any:
        """The answer to the last request. Raises the helper's error, or HelperLost."""
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
