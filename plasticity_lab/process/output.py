"""Where a process prints: output that is closed, full, read no longer, or of an encoding that lacks some signs."""

import io
import os
import sys
from typing import Any

ERRORS = "backslashreplace"
"""A sign that the encoding of the output lacks is written as its number, as Python does on standard error."""


def begin_output() -> None:
    """Makes standard output and error fit to be printed to; once more changes nothing.

    Those that are closed lead nowhere from now on: otherwise the next file that is opened would take their place, and
    what libraries print would be written into it. Streams that somebody has put in their place are left as they are.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free: this one
    if sys.stdout is sys.__stdout__:
        sys.stdout = _stream(_Output(1), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _stream(_Said(2), sys.stderr)


def output_error() -> OSError | None:
    """Why something that was printed is not in standard output; also where the printer has not heard of it.

    Of standard error only that nobody reads it any more: other errors there are passed over.
    """
    raws: list[Any] = [getattr(getattr(stream, "buffer", None), "raw", None) for stream in (sys.stdout, sys.stderr)]
    return next((raw.error for raw in raws if isinstance(raw, _Output) and raw.error is not None), None)


class _Output(io.FileIO):
    """Standard output. It keeps the first error in writing, of which argparse says nothing; from then on it leads
    nowhere, so that Python does not complain again when it ends.
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


class _Said(_Output):
    """Standard error. What cannot be written there, as on a full disk, is left out: there is nobody to tell, and the
    work goes on. A reader that has gone is reported, once: whoever started the command may have ended it thereby.
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
    """The stream over a file, in the encoding of the one before it; None was closed when Python started."""
    encoding, lines = ("utf-8", False) if before is None else (before.encoding, before.line_buffering)
    through = before is not None and before.write_through
    if before is not None:
        before.flush()
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, ERRORS, line_buffering=lines or through)
