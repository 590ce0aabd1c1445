"""How a command ends: its exit status, after one sentence on stderr where something is wrong."""

import gc
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from plasticity_lab.errors import PlasticityError

TRACE = "HYDRA_FULL_ERROR"
"""The environment variable that, set to 1, asks for the traceback of a mistake; the name is Hydra's."""


def status_of(command: Callable[[], int], interrupted: str = "Interrupted.", unread: int = 0) -> int:
    """Calls a command → its exit status: what it returns; 1 after a PlasticityError, whose sentence goes to stderr.

    interrupted: what is said after Ctrl-C, with status 130. unread: the status where whoever read the output has
    closed it (`| head`), having seen enough.
    """
    try:
        try:
            return command()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print(interrupted, file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Python flushes stdout once more when it ends, and would complain of the pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return unread
    except PlasticityError as error:
        if os.environ.get(TRACE) == "1":
            raise
        print(error, file=sys.stderr)
        return 1


def leave(status: int) -> NoReturn:
    """Ends this process."""
    # Otherwise Python would search the hundred thousands of objects that torch has made for cycles among them, to free
    # what ends with the process anyway: half a second.
    gc.freeze()
    sys.exit(status)
