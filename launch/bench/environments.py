"""CPU seconds of a step in each of the project's environments.

    python -m launch.bench.environments [--bodies catch,hopper] [--runs 8] [--repeats 5] [--out FOLDER]

Each environment is stepped alone, and in a pack of runs with one environment each, with random actions. The first gives
the time of a call, the second the time of a further environment in the same call. All environments are timed in turns.
`launch/plan/shipped.yaml` has the time of a step in a pack. Plans take it if `calibrate` has not timed the environment.
"""

import os
import time
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from launch.bench.choices import parsed, parser_of, write_result
from launch.work.process import prepare_process
from plasticity_lab.environments.bodies import BODIES, body_named
from plasticity_lab.environments.environments import Environments
from plasticity_lab.process.exits import leave, status_of
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.provenance import cpu_model

BURST_SECONDS = 0.05
"""The least CPU time of a burst."""
TABLE = 64
"""Number of different random actions."""


class Stepped:
    """Environments of some runs, one of each, with the random actions that they take."""

    def __init__(self, name: str, runs: int, burst_seconds: float) -> None:
        body, draw = body_named(name), host_stream(0, "timing", name)
        self.runs, self.environments = runs, Environments(body, range(runs), 1, 0)
        if body.discrete:
            self.actions = draw.integers(0, body.actions, (TABLE, runs, 1))
        else:
            self.actions = draw.uniform(*body.bounds, (TABLE, runs, 1, body.actions)).astype(np.float32)
        self.steps = 50
        while self.burst() * self.steps * runs < burst_seconds:
            self.steps *= 2

    def burst(self) -> float:
        """CPU seconds of one environment's step."""
        began = time.process_time()
        for at in range(self.steps):
            self.environments.step(self.actions[at % TABLE])
        return (time.process_time() - began) / (self.steps * self.runs)


def timed(
    names: Sequence[str], widths: Sequence[int], repeats: int, burst_seconds: float = BURST_SECONDS
) -> Mapping[str, Mapping[int, list[float]]]:
    """Environment → number of runs → CPU seconds of one environment's step, in each round."""
    stepped = {name: {runs: Stepped(name, runs, burst_seconds) for runs in widths} for name in names}
    found: dict[str, dict[int, list[float]]] = {name: {runs: [] for runs in widths} for name in names}
    for _ in range(repeats):
        for name, by_width in stepped.items():
            for runs, each in by_width.items():
                found[name][runs].append(each.burst())
    return found


def figures(
    microseconds: Mapping[str, Mapping[str, Sequence[float]]],
) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of each environment's step in a call, and of the call, from a result of this command."""
    steps, calls = {}, {}
    for name, by_width in microseconds.items():
        many = max(map(int, by_width))
        alone, packed = (1e-6 * median(by_width[width]) for width in ("1", str(many)))
        steps[name] = max(0.0, (many * packed - alone) / (many - 1))
        calls[name] = alone - steps[name]
    return steps, calls


def main() -> None:
    """The command."""
    parser = parser_of("environments", __doc__)
    here = [name for name, body in BODIES.items() if not body.missing]
    parser.add_argument("--bodies", default=",".join(here), help="some of them, by their names")
    parser.add_argument("--runs", type=int, default=8, help="runs of the pack")
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    options = parsed(parser, "environments")
    prepare_process()
    found = timed(options.bodies.split(","), sorted({1, options.runs}), options.repeats)
    print(f"{cpu_model()}, load {os.getloadavg()[0]:.1f}; µs of a step alone, and in a pack of {options.runs} runs")
    for name, by_width in found.items():
        print(f"{name:20}" + "".join(f"{1e6 * median(of):10.1f}" for of in by_width.values()))
    microseconds = {
        name: {str(runs): [round(1e6 * seconds, 2) for seconds in of] for runs, of in by_width.items()}
        for name, by_width in found.items()
    }
    write_result(options.out, "environments", {"environment_microseconds": microseconds})


if __name__ == "__main__":
    leave(status_of(main))
