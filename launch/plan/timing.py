"""Timing several contenders in turn, again and again, so that a disturbance of the machine hits all of them."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Contender:
    """Code to be timed, in bursts of steps.

    facts: network, activation, mode, width … as the report shows them. run_steps: of one burst. burst: takes it, and
    returns when all is computed. processes: the number at work. busy: CPU seconds that they have used so far.
    """

    name: str
    facts: Mapping[str, Any]
    run_steps: int
    burst: Callable[[], object]
    processes: int = 1
    busy: Callable[[], float] = time.process_time


@dataclass
class Timing:
    """Seconds of one contender's bursts: by the wall clock, and of CPU time. first: the first call, which compiles."""

    contender: Contender
    first: float = 0.0
    wall: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)

    def burst(self) -> None:
        """Takes one burst and keeps its seconds."""
        wall, busy = time.perf_counter(), self.contender.busy()
        self.contender.burst()
        self.wall.append(time.perf_counter() - wall)
        self.busy.append(self.contender.busy() - busy)


def interleaved(contenders: Sequence[Contender], repeats: int) -> list[Timing]:
    """A B C A B C …: `repeats` bursts of each, after a first one that is not counted."""
    timings = [Timing(contender) for contender in contenders]
    for timing in timings:
        timing.burst()
        timing.first = timing.wall.pop()
        timing.busy.clear()
    for _ in range(repeats):
        for timing in timings:
            timing.burst()
    return timings


def on(device: str) -> contextlib.AbstractContextManager[None]:
    """Around a measurement on a device: keeps that on a CPU to one core."""
    return one_core() if device == "cpu" else contextlib.nullcontext()


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Keeps threads that start inside on one core, those of libraries included, if the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
