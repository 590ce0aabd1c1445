"""A process that steps its share of the copies for the process that started it (see in_processes.py).

    python -m plasticity_lab.environments.processes LINE FILE

Both are numbers of open files: a pipe for requests and answers, and the shared memory. The process ends when the other
end of the pipe is closed.
"""

import pickle
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any

from plasticity_lab.environments.processes.share import Share, Shared

DEAF_TO = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that ask a worker to stop. Under Slurm they reach all its processes, but the last checkpoint needs this
one."""


def main() -> None:
    """Builds its copies, and executes requests until the pipe is closed."""
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    line, file = Connection(int(sys.argv[1])), int(sys.argv[2])
    share: Share | None = None
    while True:
        try:
            verb, *arguments = pickle.loads(line.recv_bytes())
        except EOFError:
            return
        found, error, trace = None, None, ""
        try:
            if share is None:
                pickled, own, copies = arguments
                body = pickle.loads(pickled)
                share = Share(body, own, Shared(file, body, copies))
            else:
                found = _done(share, verb, arguments)
        except Exception as failure:
            error, trace = _sendable(failure), traceback.format_exc()
        try:
            line.send_bytes(pickle.dumps((found, error, trace)))
        except OSError:
            return


def _done(share: Share, verb: str, arguments: list[Any]) -> Any:
    """The result of a request of `InProcesses` for this share."""
    simulation: Any = share.simulation
    match verb:
        case "step":
            return share.step(*arguments)
        case "start":
            return simulation.start(*arguments)
        case "state":
            return simulation.state()
        case "load":
            return simulation.load(*arguments)
        case "scale_friction":
            return simulation.scale_friction(*arguments)
    raise ValueError(f"A helper was asked to {verb}, which it cannot.")


def _sendable(error: Exception) -> Exception:
    """The error, or one with the same text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    main()
