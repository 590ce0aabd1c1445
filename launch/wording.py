"""Counts, sizes, times and lists as words, and a line on stderr."""

import contextlib
import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from datetime import timedelta

from plasticity_lab.process.beside import beside

SHOWN = 5
LONGEST_SILENCE_SECONDS = 60.0
FIRST_WORD_SECONDS = 4.0 if sys.stderr.isatty() else LONGEST_SILENCE_SECONDS
"""Seconds of work before the first line on stderr: few in a terminal, more in a file; later pauses grow."""
_FLAGS = {
    "collapsed": "collapsed to chance",
    "mixed_code": "begun by other code",
    "mixed_kind": "begun on another kind of device",
    "memory_refilled": "with a replay memory that began empty again",
    "no_episode": "without an ended episode",
}


def counted(count: int, what: str) -> str:
    """«1 pack», «2,000 packs», «2 studies»."""
    if count == 1:
        return f"1 {what}"
    return f"{count:,} {re.sub('(?<=[^aeiou])y$', 'ie', what)}s"


def run_steps(units: Collection[str]) -> str:
    """The unit of the steps of all runs together: «run-steps», or the common unit of all runs if it is another one."""
    (unit,) = set(units) if len(set(units)) == 1 else ("steps",)
    return "run-steps" if unit == "steps" else unit


def in_bytes(count: int) -> str:
    """«3.4 MiB»."""
    size, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.3g} {units[0]}" if size < 1000 else f"{size:,.0f} {units[0]}"


def in_time(seconds: float) -> str:
    """«1:05:00», «2 days, 0:00:00»; at least a second, and no more than can be counted."""
    if seconds > timedelta.max.total_seconds() / 2:
        return "over a million years"
    return str(timedelta(seconds=max(1, round(seconds))))


def some(ids: Collection[str], most: int = SHOWN) -> str:
    """The first `most` by name, and how many more there are."""
    shown = ", ".join(list(ids)[:most])
    return shown if len(ids) <= most else f"{shown} and {len(ids) - most:,} more"


def flagged(words: str, flags: Collection[str]) -> str:
    """«done, collapsed to chance»: the status of a run with the flags of its record."""
    return ", ".join([words, *map(flag_in_words, flags)])


def flag_in_words(flag: str) -> str:
    """«collapsed to chance»; unknown flags stay as they are."""
    return _FLAGS.get(flag, flag)


def say(*lines: object) -> None:
    """Lines on stderr, at once."""
    for line in lines:
        print(line, file=sys.stderr, flush=True)


class Silence:
    """The pauses between lines of one wait: first FIRST_WORD_SECONDS, then longer, LONGEST_SILENCE_SECONDS at most."""

    def __init__(self) -> None:
        self.seconds = self._until = FIRST_WORD_SECONDS

    def is_over(self, waited: float) -> bool:
        """Whether a line is due; then a longer pause begins.  waited: seconds so far."""
        if waited < self._until:
            return False
        self.seconds = min(1.5 * self.seconds, LONGEST_SILENCE_SECONDS)
        self._until = waited + self.seconds
        return True


@contextlib.contextmanager
def said_while(doing: str, say_line: Callable[[str], None] = say) -> Iterator[None]:
    """Says that some work goes on, with the time so far, with the pauses of `Silence`.

    doing: as in "Planning". say_line: called with each line, on another thread.
    """
    began = time.monotonic()

    def say_it(over: threading.Event) -> None:
        silence = Silence()
        while not over.wait(silence.seconds):
            if silence.is_over(waited := time.monotonic() - began):
                say_line(f"{doing}: {in_time(waited)} so far.")

    with beside(doing, say_it):
        yield
