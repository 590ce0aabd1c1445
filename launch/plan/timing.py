"""Times several contenders in turn, repeatedly, so that a disturbance of the machine affects all of them."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Contender:
    """Code to be timed, in bursts of steps.

    facts: network, activation, mode, width … for the report. run_steps: the run-steps of one burst. burst: runs one
    burst and returns when all is computed. processes: the number of processes at work. busy: the CPU seconds that they
    have used so far.
    """

    name: str
    facts: Mapping[str, Any]
    run_steps: int
    burst: Callable[[], object]
    processes: int = 1
    busy: Callable[[], float] = time.process_time


@dataclass
class Timing:
    """Seconds of one contender's bursts.

    wall, busy: wall-clock and CPU seconds of each burst. first: wall-clock seconds of the first call, which compiles.
    """

    contender: Contender
    first: float = 0.0
    wall: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)

    def burst(self) -> None:
        """Runs one burst and stores its seconds."""
        wall, busy = time.perf_counter(), self.contender.busy()
        self.contender.burst()
        self.wall.append(time.perf_counter() - wall)
        self.busy.append(self.contender.busy() - busy)


def interleaved(contenders: Sequence[Contender], repeats: int) -> list[Timing]:
    """Times bursts in the order A B C A B C …: `repeats` bursts of each, after an uncounted first burst."""
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
    """Around a measurement on a device. A measurement on a CPU is pinned to one core."""
    return one_core() if device == "cpu" else contextlib.nullcontext()


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Pins threads that start inside, libraries' threads included, to one core, if the system supports that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
