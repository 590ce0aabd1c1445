"""Progress for people: a live bar on a terminal, a line now and then in a log file."""

import sys
import time
from datetime import timedelta
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from launch.packs.watch import Progress
from launch.wording import LONGEST_SILENCE_SECONDS, in_time

FIRST_LINE_SECONDS = SILENT_SECONDS = 5.0


class Display(Protocol):
    """Shows how far a sweep has come."""

    def show(self, now: Progress, waits_for: str = "") -> None:
        """Called every second or so.  waits_for: what there is still to wait for, once all packs have ended."""
        ...

    def say(self, words: str) -> None:
        """Prints a line that stays."""
        ...

    def close(self) -> None:
        """Leaves the terminal as it was."""
        ...


def display() -> Display:
    """A bar where standard error is a terminal, lines where it is a file or a pipe."""
    return TerminalBar() if sys.stderr.isatty() else LogLines()


class Rate:
    """Run-steps per second since the first step of this command; what earlier ones did is not counted.

    What is left is not by this rate: run-steps of different runs take different times.
    """

    def __init__(self) -> None:
        self.began: float | None = None
        self.moving = False
        self.before = self.last = 0

    def words(self, now: Progress, moment: float, waits_for: str = "") -> str:
        """«12 of 57 runs · 38 % · 12,300 run-steps/s · 0:01:05 left», with what went wrong at its end.

        Once all packs have ended: «all 57 runs are trained · writing them to W&B: 12 of 57 runs».
        """
        # Workers take seconds to start; and a pack that goes on from its checkpoint stands behind where it was seen.
        back = now.run_steps_done < self.last
        if self.began is None or back or (not self.moving and now.run_steps_done > self.before):
            self.moving = self.began is not None and not back
            self.began, self.before = moment, now.run_steps_done
        self.last = now.run_steps_done
        elapsed, taken = moment - self.began, now.run_steps_done - self.before
        if waits_for:
            parts = ["the run is trained" if now.runs == 1 else f"all {now.runs} runs are trained", waits_for]
        else:
            parts = [f"{now.runs_done} of {now.runs} runs", f"{100 * now.run_steps_done // max(1, now.run_steps)} %"]
        if now.pause and not waits_for:
            parts += [now.pause]
        elif not self.moving and elapsed >= SILENT_SECONDS and not waits_for:
            parts += [f"no step seen yet, {in_time(elapsed)} so far"]
        elif taken > 0 and elapsed > 1 and not waits_for:
            parts += [f"{taken / elapsed:,.0f} {now.unit}/s"]
            parts += [f"{timedelta(seconds=round(now.left))} left"] if now.left is not None else []
        parts += [f"{count} {word}" for count, word in ((now.diverged, "diverged"), (now.failed, "failed")) if count]
        return " · ".join(parts)


class TerminalBar:
    """One line that stays where it is."""

    def __init__(self) -> None:
        self.rate = Rate()
        console = Console(stderr=True)
        self.bar = Bar(BarColumn(20), TextColumn("{task.description}", markup=False), console=console, transient=True)
        self.line = self.bar.add_task("starting", total=None)
        self.bar.start()

    def show(self, now: Progress, waits_for: str = "") -> None:
        """Moves the bar."""
        words = self.rate.words(now, time.monotonic(), waits_for)
        self.bar.update(self.line, total=now.run_steps, completed=now.run_steps_done, description=words)

    def say(self, words: str) -> None:
        """Prints a line above the bar."""
        self.bar.console.print(words, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Takes the bar away."""
        self.bar.stop()


class LogLines:
    """A line soon after the start, then at growing intervals, a minute at most."""

    def __init__(self) -> None:
        self.rate = Rate()
        self.silence = FIRST_LINE_SECONDS
        self.last = time.monotonic()
        self.waits = self.pauses = False

    def show(self, now: Progress, waits_for: str = "") -> None:
        """Prints a line when one is due."""
        moment = time.monotonic()
        words = self.rate.words(now, moment, waits_for)
        pauses = now.pause != ""
        news = bool(waits_for) and not self.waits
        if pauses and not self.pauses:
            self.silence = FIRST_LINE_SECONDS
        self.pauses = pauses
        if moment - self.last < self.silence and not news:
            return
        self.last, self.waits = moment, bool(waits_for)
        self.silence = FIRST_LINE_SECONDS if news else min(self.silence * 1.5, LONGEST_SILENCE_SECONDS)
        self.say(f"[{time.strftime('%H:%M:%S')}] {words}")

    def say(self, words: str) -> None:
        """Prints a line."""
        print(words, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing to take away."""
