"""What an agent's steps in environments cost on the host, before it starts."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments
from plasticity_lab.randomness.host import host_stream

STEPS_AN_EPISODE = 100
"""Guessed, for the number of rows that a run's episodes make."""


CHUNK_OPERATIONS = 10**11
"""Of a run's updates in a chunk: some seconds on one core, so that stop signals are seen soon enough."""
CHUNK_ROWS = 128
"""Steps of all environments at once in a chunk, at most."""


def steps_of_chunk(environments: int, update_period: int, operations: int) -> int:
    """Steps of a chunk at most, all environments of a run together, of an agent that learns while it acts.

    A function of the run alone, not of its pack. operations: of an update.
    """
    updates = max(1, CHUNK_OPERATIONS // max(1, operations))
    return min(CHUNK_ROWS * environments, max(environments, updates * update_period))


def passes_of_tests(benchmark: BodyBenchmark, resource: Bodies) -> int:
    """Passes through the network that all tests of a run take at most: those of the longest episodes there can be."""
    return sum(many * _test(benchmark, resource, position)[0] for position, many in _alike(benchmark).items())


def host_steps(benchmark: BodyBenchmark, resource: Bodies, steps: int) -> dict[str, int]:
    """Body → its steps in the whole run, those of tests included.  steps: of a task's training, all environments
    together.
    """
    found: dict[str, int] = {}
    for position, many in _alike(benchmark).items():
        body = benchmark.body_of(position)
        found[body] = found.get(body, 0) + many * (steps + _test(benchmark, resource, position)[1])
    return found


def steps_of_bodies() -> Mapping[str, Callable[[int], object]]:
    """For each body that can be built here, what takes that many steps of it with actions drawn at random."""
    return {name: partial(_step, body) for name, body in BODIES.items() if not body.missing}


def _alike(benchmark: BodyBenchmark) -> dict[int, int]:
    """The tasks of the first cycle → how many of the run cost what each does."""
    cycle = len(benchmark.bodies)
    return {position: len(range(position, benchmark.tasks, cycle)) for position in range(min(cycle, benchmark.tasks))}


def _test(benchmark: BodyBenchmark, resource: Bodies, position: int) -> tuple[int, int]:
    """The passes of the test after a task, and the steps of its body."""
    body = resource.by_name[benchmark.body_of(position)]
    frictions = benchmark.test_frictions(body)
    return (0, 0) if frictions is None else (body.max_steps, body.max_steps * len(frictions))


def _step(body: Body, steps: int) -> None:
    environments, draw = Environments(body, [0], 1, 0), host_stream(0, "timing", body.name)
    for _ in range(steps):
        if body.discrete:
            environments.step(draw.integers(0, body.actions, (1, 1)))
        else:
            environments.step(draw.uniform(*body.bounds, (1, 1, body.actions)).astype(np.float32))
