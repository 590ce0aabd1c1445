"""A pack's copies of an environment stepped by several processes, compared with the same steps in this process alone.

    python -m launch.bench.body_processes [--bodies hopper,ant] [--copies 8] [--processes 2]

Both ways take the same steps from the same state, in turns, again and again. By the wall clock each step counts with
its fastest time, because helpers are often late on a machine with other work. CPU time is the median.
"""

import os
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from launch.bench.choices import MUJOCO, parser_of
from launch.work.process import prepare_process
from plasticity_lab.environments.bodies import body_named
from plasticity_lab.environments.body import Body, Simulation
from plasticity_lab.environments.processes.in_processes import InProcesses
from plasticity_lab.process.exits import leave, status_of
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.provenance import cpu_model

STEPS, ROUNDS = 20, 40


class Timed:
    """One way to step the copies.  wall (STEPS,): the fastest time of each step. busy: CPU seconds of each round."""

    def __init__(self, simulation: Simulation, copies: int, cpu: Callable[[], float]) -> None:
        self.simulation, self.cpu = simulation, cpu
        simulation.start(np.arange(copies), [host_stream(0, "timing", copy) for copy in range(copies)])
        self.first = simulation.state()
        self.wall, self.busy = np.full(STEPS, np.inf), list[float]()

    def round(self, actions: np.ndarray) -> None:
        """The same steps from the same state as in every other round."""
        self.simulation.load(self.first)
        before, times = self.cpu(), [time.perf_counter()]
        for actions_of_copies in actions:
            self.simulation.step(actions_of_copies)
            times.append(time.perf_counter())
        self.busy.append(self.cpu() - before)
        self.wall = np.minimum(self.wall, [later - earlier for earlier, later in pairwise(times)])


def _line(body: Body, copies: int, processes: int) -> str:
    together = InProcesses(body, copies, processes)

    def cpu() -> float:
        return time.process_time() + sum(map(_cpu_of, together.helpers))

    ways = Timed(body.simulation(copies), copies, time.process_time), Timed(together, copies, cpu)
    draw = np.random.default_rng(0)
    actions = draw.uniform(*body.bounds, (STEPS, copies, body.actions)).astype(np.float32)
    for _ in range(ROUNDS):
        for way in ways:
            way.round(actions)
    wall = [1e6 * way.wall.mean() for way in ways]
    busy = [1e6 * np.median(way.busy) / STEPS for way in ways]
    by_wall = f"{wall[0]:8.0f} {wall[1]:8.0f} {wall[0] / wall[1]:8.2f} ×"
    return f"{body.name:12}{by_wall} {busy[0]:10.0f} {busy[1]:8.0f} {busy[1] / busy[0]:8.2f} ×"


def _cpu_of(process: int) -> float:
    """CPU seconds of another process so far, as Linux counts them."""
    with open(f"/proc/{process}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def main() -> None:
    """The command."""
    parser = parser_of("body_processes", __doc__)
    parser.add_argument("--bodies", default=",".join(MUJOCO), help=f"of {', '.join(MUJOCO)}")
    parser.add_argument("--copies", type=int, default=8)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    prepare_process()
    many, load = options.processes, os.getloadavg()[0]
    print(f"{cpu_model()}, load {load:.1f}; µs of a step of {options.copies} copies, in 1 process and in {many}")
    print("                wall:  1  several   faster     CPU:  1  several     more")
    for name in options.bodies.split(","):
        print(_line(body_named(name), options.copies, many), flush=True)


if __name__ == "__main__":
    leave(status_of(main))
