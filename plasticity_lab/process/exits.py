"""How a command begins and ends: its age, its words, its output and its exit status, with one message for an error."""

import errno
import gc
import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from plasticity_lab.errors import ConfigError, PlasticityError
from plasticity_lab.process.account import settle_account
from plasticity_lab.process.import_path import hidden

TRACE = "HYDRA_FULL_ERROR"
"""If this environment variable is 1, an error shows its traceback; the name is Hydra's."""
LONGEST_START_SECONDS = 120.0
"""If a process seems older than this when its first command begins, its clocks do not fit."""

_command_time = time.monotonic()


def command_begins(with_process: bool) -> None:
    """Notes that a command begins now, or, if `with_process`, that it began with this process, before the imports."""
    global _command_time
    _command_time = time.monotonic() - (_age_of_process() if with_process else 0.0)


def seconds_since_command() -> float:
    """Seconds since the command was given. A `cancel` within these seconds applies to the command too."""
    return time.monotonic() - _command_time


def _age_of_process() -> float:
    """Seconds since this process was started; 0 if the system does not tell."""
    try:
        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        age = float(Path("/proc/uptime").read_text().split()[0]) - started
    except (OSError, IndexError, ValueError):
        return 0.0
    return age if 0 <= age <= LONGEST_START_SECONDS else 0.0


def check_words(words: Sequence[str]) -> None:
    """Raises ConfigError for an empty word, which the shell makes from "$NAME" if NAME is not set.

    argparse would take it for the current folder, or ignore it.
    """
    for before, word in zip(["", *words], words, strict=False):
        option, equals, value = word.partition("=")
        if not word.strip():
            named = before if before.startswith("-") and "=" not in before else ""
        elif option.startswith("--") and equals and not value.strip():
            named = option
        else:
            continue
        raise ConfigError(
            f"{named or 'A word of the command'} is empty, as if a shell variable is not set; give it a value, or "
            "leave it out."
        )


def status_of(command: Callable[[], int | None], interrupted: str = "Interrupted.") -> int:
    """Calls a command and returns its exit status: its result, 0 for None, or 1 after a PlasticityError.

    The message of a PlasticityError goes to stderr.

    interrupted: the message after Ctrl-C, with status 130, unless the KeyboardInterrupt has a message. A reader that
    closes the output (`| head`) causes no error; output that cannot be written, as on a full disk, does.
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
        # argparse raises it and ignores write errors; rich raises it to end the process after a write error.
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


def _carried_out(command: Callable[[], int | None], interrupted: str) -> int:
    try:
        try:
            os.getcwd()  # relative paths, libraries and child processes need it
        except OSError as error:
            raise ConfigError(
                "The current folder was removed, or cannot be read; change to another one with cd."
            ) from error
        return command() or 0
    except KeyboardInterrupt as stopped:
        print(stopped if stopped.args else interrupted, file=sys.stderr)
        return 130
    except PlasticityError as error:
        if os.environ.get(TRACE) == "1":
            raise
        print(error, file=sys.stderr)
        return 1


def leave(status: int) -> NoReturn:
    """Ends this process."""
    # Otherwise Python would search all objects of torch for cycles, to free memory that ends with the process anyway:
    # half a second.
    gc.freeze()
    sys.exit(status)


def begin_output() -> None:
    """Prepares standard output and error for printing; a second call changes nothing.

    Closed ones are connected to /dev/null. Otherwise the next file that is opened would take their number, and
    libraries would print into it. Streams that other code has put in their place are left alone.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number: this one
    if sys.stdout is sys.__stdout__:
        sys.stdout = _stream(_Output(1), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _stream(_ErrorOutput(2), sys.stderr)


def output_error() -> OSError | None:
    """The error that kept a line from standard output, even if the code that printed the line did not see it.

    For standard error, only the error that its reader has closed it; others there are ignored.
    """
    raws: list[Any] = [getattr(getattr(stream, "buffer", None), "raw", None) for stream in (sys.stdout, sys.stderr)]
    return next((raw.error for raw in raws if isinstance(raw, _Output) and raw.error is not None), None)


class _Output(io.FileIO):
    """Standard output. It keeps the first error in writing, which argparse ignores; from then on it is connected to
    /dev/null, so that Python does not complain again at its end.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        self.error: OSError | None = None

    def write(self, data: Any, /) -> int | None:
        try:
            return super().write(data)
        except OSError as error:
            self.error = error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            raise


class _ErrorOutput(_Output):
    """Standard error. Lines that cannot be written, as on a full disk, are dropped, and the work continues. A closed
    reader is reported once: the user may have ended the command in this way.
    """

    def write(self, data: Any, /) -> int | None:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError:
            self.error = None
            return len(data)


def _stream(raw: io.FileIO, before: Any) -> io.TextIOWrapper:
    """The stream over a file, in the encoding of the one before it; None was closed when Python started.

    Characters that the encoding lacks are written as their numbers, as Python does on standard error.
    """
    encoding, lines = ("utf-8", False) if before is None else (before.encoding, before.line_buffering)
    through = before is not None and before.write_through
    if before is not None:
        before.flush()
    buffer = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffer, encoding, "backslashreplace", line_buffering=lines or through)
