"""Reads the progress of packs from the store and shows it: a live bar on a terminal, some lines in a log file."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from launch.packs.endings import REPLACED, Ending, ending_of
from launch.packs.progress import Reached, reached, read_pause, seconds_needed, until_the_last
from launch.wording import LONGEST_SILENCE_SECONDS, in_time, run_steps
from plasticity_lab.records.files import names
from plasticity_lab.records.plan import Pack, in_parts
from plasticity_lab.records.store import Store

FIRST_LINE_SECONDS = SILENT_SECONDS = 5.0


@dataclass(frozen=True)
class Progress:
    """The total progress of several packs.

    runs, run_steps: the numbers for all packs; run-steps are the steps of each run, summed over runs. runs_done: the
    runs of packs that ended well. run_steps_done: all run-steps of ended packs, and the run-steps so far of the others.
    diverged, failed: numbers of runs. unit: the name of run-steps. left: seconds until the last pack ends, at the pace
    so far; None if no pack is training. pause: the work of the workers if none trains now.
    """

    runs: int
    runs_done: int
    run_steps: int
    run_steps_done: int
    diverged: int
    failed: int
    unit: str = "run-steps"
    left: float | None = None
    pause: str = ""


class Watch:
    """Reports the progress of packs, or of the parts of divided packs, at each call. Each ending is read once.

    A pack counts as training from the first step that this command observes.
    """

    def __init__(self, store: Store, packs: Sequence[Pack]) -> None:
        self.store, self.packs = store, packs
        self.ended: dict[str, Ending] = {}
        self._first: dict[str, int] = {}

    @property
    def over(self) -> bool:
        """Whether all packs have ended."""
        return len(self.ended) == len(self.packs)

    def look(self) -> Progress:
        """The present progress of the packs.  Raises StoreError."""
        marked = set(names(self.store.done_folder)) - self.ended.keys()
        self.packs = in_parts(self.store, self.packs)  # after the marks: a divided pack is marked after its division
        begun = set(names(self.store.root / "packs"))
        for pack in self.packs:
            if pack.id in marked and (ending := ending_of(self.store, pack.id)) is not None:
                self.ended[pack.id] = ending
        left = [pack for pack in self.packs if pack.id not in self.ended]
        ended = [(pack, self.ended[pack.id]) for pack in self.packs if pack.id in self.ended]
        far = {pack.id: reached(self.store, pack.id) for pack in left if pack.id in begun}
        return Progress(
            runs=sum(pack.width for pack in self.packs),
            runs_done=sum(pack.width for pack, end in ended if not end.failed and end.status != REPLACED),
            run_steps=sum(pack.run_steps for pack in self.packs),
            run_steps_done=sum(pack.run_steps for pack, _ in ended)
            + sum(far[pack.id].steps * pack.width for pack in left if pack.id in far),
            diverged=sum(end.diverged for _, end in ended) + sum(now.diverged for now in far.values()),
            failed=sum(pack.width for pack, end in ended if end.failed),
            unit=run_steps({pack.unit for pack in self.packs}),
            left=self._seconds_left(left, far),
            pause=self._pause([pack.id for pack in left if pack.id in begun]),
        )

    def _pause(self, begun: Sequence[str]) -> str:
        """The longest pause of the workers, in words; empty if any worker trains."""
        pauses = [read_pause(self.store, pack) for pack in begun]
        known = [pause for pause in pauses if pause is not None]
        return max(known, key=lambda pause: pause.seconds).words if known and len(known) == len(pauses) else ""

    def _seconds_left(self, left: Sequence[Pack], far: dict[str, Reached]) -> float | None:
        """Seconds until the last pack ends, if the number of packs in training stays as it is; None if it is zero."""
        for pack, now in far.items():
            self._first.setdefault(pack, now.steps)
        moving = {pack for pack, now in far.items() if now.steps > self._first[pack]}
        took = {pack: ending.seconds for pack, ending in self.ended.items() if ending.seconds is not None}
        needed = seconds_needed(left, self.packs, far, took)
        held = [needed[pack.id] for pack in left if pack.id in moving]
        waiting = [needed[pack.id] for pack in left if pack.id not in moving]
        return until_the_last(held, waiting, any_waits=bool(waiting))


class Rate:
    """Run-steps per second since the first step of this command; steps of earlier commands do not count.

    The time left does not follow from this rate: run-steps of different runs take different times.
    """

    def __init__(self) -> None:
        self.began: float | None = None
        self.moving = False
        self.before = self.last = 0

    def words(self, now: Progress, moment: float, waits_for: str = "") -> str:
        """The progress in words: «12 of 57 runs · 38 % · 12,300 run-steps/s · 0:01:05 left», then diverged and failed.

        After all packs have ended: «all 57 runs are trained · writing them to W&B: 12 of 57 runs».
        """
        # Workers take seconds to start. A pack that continues from its checkpoint falls behind its last progress.
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
            if now.pause:
                parts += [now.pause]
            elif not self.moving and elapsed >= SILENT_SECONDS:
                parts += [f"no step seen yet, {in_time(elapsed)} so far"]
            elif taken > 0 and elapsed > 1:
                parts += [f"{taken / elapsed:,.0f} {now.unit}/s"]
                parts += [f"{timedelta(seconds=round(now.left))} left"] if now.left is not None else []
        parts += [f"{count} {word}" for count, word in ((now.diverged, "diverged"), (now.failed, "failed")) if count]
        return " · ".join(parts)


class TerminalBar:
    """A progress bar in one line of a terminal."""

    def __init__(self) -> None:
        self.rate = Rate()
        console = Console(stderr=True)
        self.bar = Bar(BarColumn(20), TextColumn("{task.description}", markup=False), console=console, transient=True)
        self.line = self.bar.add_task("starting", total=None)
        self.bar.start()

    def show(self, now: Progress, waits_for: str = "") -> None:
        """Updates the bar.  Called about every second.

        waits_for: the work that is left after all packs have ended.
        """
        words = self.rate.words(now, time.monotonic(), waits_for)
        self.bar.update(self.line, total=now.run_steps, completed=now.run_steps_done, description=words)

    def say(self, words: str) -> None:
        """Prints a permanent line above the bar."""
        self.bar.console.print(words, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Removes the bar."""
        self.bar.stop()


class LogLines:
    """Prints a line soon after the start, then at growing intervals of up to a minute. Used as `TerminalBar` is."""

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
        """Does nothing: lines stay."""


Display = TerminalBar | LogLines


def display() -> Display:
    """A bar if standard error is a terminal, lines if it is a file or a pipe."""
    return TerminalBar() if sys.stderr.isatty() else LogLines()
