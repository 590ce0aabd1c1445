"""The number of processes that step the copies of an environment: fixed, or chosen by a measurement."""

import time
from dataclasses import dataclass

import numpy as np

from plasticity_lab.environments.body import Body, Simulation
from plasticity_lab.environments.processes.in_processes import InProcesses
from plasticity_lab.randomness.host import host_stream

LEAST_SECONDS = 1e-4
"""Seconds of a step of all copies. Below this, helpers are useless: a request and its answer take some 40 µs."""
ROUNDS, STEPS, WARM_UP = 5, 4, 4
"""Rounds and steps of the measurement. The two ways alternate, so that disturbances of the machine affect both."""


@dataclass(frozen=True)
class Processes:
    """most: the largest number of processes for the environments of a pack. measured: whether to use one if it is
    faster.

    No number of a run depends on it.
    """

    most: int = 1
    measured: bool = False

    def of(self, body: Body, copies: int) -> int:
        """The number of processes for that many copies: all, or only this one."""
        most = min(self.most, copies)
        return most if most == 1 or not self.measured or helped(body, copies, most) else 1


ALONE = Processes()


def helped(body: Body, copies: int, processes: int) -> bool:
    """Whether several processes step copies of the body faster than one, measured now: it takes a fraction of a second.

    By the wall clock, since other work on the machine may delay helpers.
    """
    alone = body.simulation(copies)
    if min(_begun(alone, body, copies)) < LEAST_SECONDS:
        return False
    together = InProcesses(body, copies, processes)
    _begun(together, body, copies)
    pairs = [[_seconds(each, body, copies, STEPS) for each in (alone, together)] for _ in range(ROUNDS)]
    one, several = np.median(pairs, axis=0)
    return bool(several < one)


def _begun(simulation: Simulation, body: Body, copies: int) -> list[float]:
    """Starts all copies; returns the seconds of each of the first steps."""
    simulation.start(np.arange(copies), [host_stream(0, "timing", body.name, copy) for copy in range(copies)])
    return [_seconds(simulation, body, copies, 1) for _ in range(WARM_UP)]


def _seconds(simulation: Simulation, body: Body, copies: int, steps: int) -> float:
    shape = (copies, *body.action)
    actions = np.zeros(shape, np.int64) if body.discrete else np.full(shape, np.mean(body.bounds), np.float32)
    began = time.perf_counter()
    for _ in range(steps):
        simulation.step(actions)
    return time.perf_counter() - began
