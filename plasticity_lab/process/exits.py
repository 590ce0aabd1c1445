"""How a command ends: its exit status, after one sentence on stderr where something is wrong."""

import errno
import gc
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from plasticity_lab.errors import ConfigError, PlasticityError
from plasticity_lab.process.account import settle_account
from plasticity_lab.process.import_path import hidden
from plasticity_lab.process.output import begin_output, output_error

TRACE = "HYDRA_FULL_ERROR"
"""The environment variable that, set to 1, asks for the traceback of a mistake; the name is Hydra's."""


def status_of(command: Callable[[], int], interrupted: str = "Interrupted.") -> int:
    """Calls a command → its exit status: what it returns; 1 after a PlasticityError, whose sentence goes to stderr.

    interrupted: what is said after Ctrl-C, with status 130, unless the KeyboardInterrupt has words of its own. Whoever
    reads the output may close it (`| head`), having seen enough: that is no mistake. Output that cannot be written, as
    on a full disk, is one.
    """
    begin_output()
    settle_account()
    if words := hidden():
        print(words, file=sys.stderr)
    status = 0
    try:
        try:
            status = _carried_out(command, interrupted)
        finally:
            sys.stdout.flush()
    except SystemExit as end:
        # Of argparse, which does not hear of errors in writing; and of rich, which ends the process for them.
        unwritten = output_error()
        if unwritten is None or (end.code and end.__context__ is not unwritten):
            raise
    except OSError as error:
        if error is not output_error():
            raise
    lost = output_error()
    if lost is None or lost.errno == errno.EPIPE:
        return status
    print(f"The output could not be written: {os.strerror(lost.errno or 0)}.", file=sys.stderr)
    return status or 1


def _carried_out(command: Callable[[], int], interrupted: str) -> int:
    try:
        _require_current_folder()
        return command()
    except KeyboardInterrupt as stopped:
        print(stopped if stopped.args else interrupted, file=sys.stderr)
        return 130
    except PlasticityError as error:
        if os.environ.get(TRACE) == "1":
            raise
        print(error, file=sys.stderr)
        return 1


def _require_current_folder() -> None:
    """Relative paths, libraries and child processes need the current folder.  Raises ConfigError if it was removed."""
    try:
        os.getcwd()
    except OSError as error:
        raise ConfigError(
            "The current folder was removed, or cannot be read; change to another one with cd."
        ) from error


def leave(status: int) -> NoReturn:
    """Ends this process."""
    # Otherwise Python would search the hundred thousands of objects that torch has made for cycles among them, to free
    # what ends with the process anyway: half a second.
    gc.freeze()
    sys.exit(status)
