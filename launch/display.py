"""Progress for people: a live bar on a terminal, a line now and then in a log file."""

import sys
import time
from datetime import timedelta
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from launch.progress import Progress

FIRST_LINE_SECONDS = 5.0
LONGEST_SILENCE_SECONDS = 60.0


class Display(Protocol):
    """Shows how far a sweep has come."""

    def show(self, now: Progress) -> None:
        """Called every second or so."""
        ...

    def close(self) -> None:
        """Leaves the terminal as it was."""
        ...


def display() -> Display:
    """A bar where standard error is a terminal, lines where it is a file or a pipe."""
    return TerminalBar() if sys.stderr.isatty() else LogLines()


class Rate:
    """Run-steps per second since the command began, those of earlier commands not counted."""

    def __init__(self) -> None:
        self.began: tuple[float, int] | None = None

    def words(self, now: Progress) -> str:
        """«57 of 57 runs · 38 % · 12,300 run-steps/s · 0:01:05 left», with what went wrong at its end."""
        moment = time.monotonic()
        self.began = self.began or (moment, now.run_steps_done)
        elapsed, taken = moment - self.began[0], now.run_steps_done - self.began[1]
        percent = 100 * now.run_steps_done / max(1, now.run_steps)
        parts = [f"{now.runs_done} of {now.runs} runs", f"{percent:.0f} %"]
        if taken > 0 and elapsed > 1:
            rate = taken / elapsed
            left = timedelta(seconds=round((now.run_steps - now.run_steps_done) / rate))
            parts += [f"{rate:,.0f} run-steps/s", f"{left} left"]
        parts += [f"{count} {word}" for count, word in ((now.diverged, "diverged"), (now.failed, "failed")) if count]
        return " · ".join(parts)


class TerminalBar:
    """One line that stays where it is."""

    def __init__(self) -> None:
        self.rate = Rate()
        self.bar = Bar(BarColumn(30), TextColumn("{task.description}"), console=Console(stderr=True), transient=True)
        self.line = self.bar.add_task("starting", total=None)
        self.bar.start()

    def show(self, now: Progress) -> None:
        """Moves the bar."""
        self.bar.update(self.line, total=now.run_steps, completed=now.run_steps_done, description=self.rate.words(now))

    def close(self) -> None:
        """Takes the bar away."""
        self.bar.stop()


class LogLines:
    """A line soon after the start, then at growing intervals, a minute at most."""

    def __init__(self) -> None:
        self.rate = Rate()
        self.silence = FIRST_LINE_SECONDS
        self.last = time.monotonic()

    def show(self, now: Progress) -> None:
        """Prints a line when one is due."""
        words = self.rate.words(now)
        if time.monotonic() - self.last < self.silence:
            return
        self.last = time.monotonic()
        self.silence = min(self.silence * 1.5, LONGEST_SILENCE_SECONDS)
        print(f"[{time.strftime('%H:%M:%S')}] {words}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing to take away."""
