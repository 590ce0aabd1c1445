"""Costs of agents that act in environments, known before a run starts."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from plasticity_lab.agents.acting.memory import MemorySettings, largest
from plasticity_lab.agents.acting.schedule import Timetable
from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.update import of_kernels
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import SegmentedTasks
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments
from plasticity_lab.kernels import replay as kernel
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.packing import INSTALL
from plasticity_lab.replay.packing import bytes_of_frame, packs, unpacked_bytes, would_pack
from plasticity_lab.replay.ring import bytes_of_step
from plasticity_lab.stacking.run_axis import aligned

STEPS_AN_EPISODE = 100
"""A guess, used to estimate the number of rows for a run's episodes."""
CHUNK_OPERATIONS = 10**11
"""Operations of a run's updates in a chunk: seconds on one core, so that stop signals are noticed soon."""
CHUNK_ROWS = 128
"""Maximum number of steps of each environment in a chunk."""


def steps_of_chunk(environments: int, timetable: Timetable, operations: int) -> int:
    """Maximum number of steps in a chunk, all environments of a run together, for an agent that learns while it acts.

    Depends on the run alone, not on its pack. operations: number of operations of an update.
    """
    times = max(1, CHUNK_OPERATIONS // max(1, operations * timetable.gradient_steps))
    return min(CHUNK_ROWS * environments, max(environments, times * timetable.update_period))


def cost_with_memory(
    agent: MemorySettings,
    parts: Parts[BodyBenchmark],
    models: Sequence[Model],
    resource: Bodies,
    tasks: SegmentedTasks,
    operations: int,
    memory: Sequence[Share],
    priorities: int = 0,
    emptied: bool = False,
) -> Cost:
    """The cost of a run with a replay memory. Its test steps and forward passes assume the longest possible episodes.

    A run that loses its memory makes fewer updates.
    models: its networks, the acting one first.
    operations: operations of an update.
    memory: on the device.
    priorities: bytes for each remembered step.
    emptied: whether each task begins with an empty memory, whatever the agent's settings say.
    """
    steps, timetable = tasks.total_steps, agent.timetable
    updates = timetable.all_updates(steps, agent.environments)
    if emptied or agent.empty_each_task:
        positions = range(parts.benchmark.tasks)
        updates = sum(timetable.updates_of(each, tasks.task_steps, agent.environments, True) for each in positions)
    remembered = min(agent.capacity, steps) // agent.environments * agent.environments
    body = largest(list(resource.by_name.values()))
    is_packed = packs(parts.compressed, body, remembered)
    ring = remembered * bytes_of_step(body, is_packed)
    frames = remembered * bytes_of_frame(body) if body.dtype == "uint8" else 0
    unpacked = unpacked_bytes(body, agent.batch) if is_packed else 0
    smaller = "a smaller agent.capacity"
    if parts.compressed == "auto" and would_pack(body, remembered) and not is_packed:
        smaller += f", or `{INSTALL}`, which holds its frames in {body.packs_to:.0%}"
    work = max(models[0].work(body) for body in models[0].bodies)
    size = sum(model.size for model in models)
    by_kernels = of_kernels(parts, models)
    return Cost(
        length=steps,
        unit="environment steps",
        updates=updates,
        flops=operations + parts.operations(size, 2 * work * aligned(agent.batch)),
        memory=memory,
        speed="dense",
        rows=tasks.epochs + parts.benchmark.tasks + steps // STEPS_AN_EPISODE,
        epochs=tasks.epochs,
        parameters=sum(model.stored for model in models),
        host_memory=(Share(ring + unpacked + priorities * remembered, f"{remembered:,} remembered steps", smaller),),
        forwards=steps // agent.environments + passes_of_tests(parts.benchmark, resource),
        forward_flops=2 * work * aligned(agent.environments),
        host_steps=host_steps(parts.benchmark, resource, tasks.task_steps),
        host_calls=host_calls(parts.benchmark, resource, tasks.task_steps, agent.environments),
        graphs=2,
        frames_bytes=frames,
        bulk_bytes=ring,
        kernels=by_kernels["kernels"],
        kernel_parts=[*by_kernels["kernel_parts"], kernel.PART],
    )


def passes_of_tests(benchmark: BodyBenchmark, resource: Bodies) -> int:
    """Maximum number of forward passes in all tests of a run: every episode is taken to be as long as possible."""
    return sum(count * _test(benchmark, resource, position)[0] for position, count in _tasks_like(benchmark).items())


def host_steps(benchmark: BodyBenchmark, resource: Bodies, steps: int) -> dict[str, int]:
    """Body → its steps in the whole run, including tests. steps: training steps of a task, all environments
    together.
    """
    total: Counter[str] = Counter()
    for position, count in _tasks_like(benchmark).items():
        total[benchmark.body_of(position)] += count * (steps + _test(benchmark, resource, position)[1])
    return dict(total)


def host_calls(benchmark: BodyBenchmark, resource: Bodies, steps: int, environments: int) -> dict[str, int]:
    """Body → number of times that all of its environments take a step together, including tests.

    steps: as in `host_steps`. environments: environments of a run.
    """
    total: Counter[str] = Counter()
    for position, count in _tasks_like(benchmark).items():
        calls = steps // environments + _test(benchmark, resource, position)[0]
        total[benchmark.body_of(position)] += count * calls
    return dict(total)


def steps_of_bodies() -> Mapping[str, Callable[[int], object]]:
    """For each body with its packages installed: a function that takes a given number of steps with random actions."""
    return {name: partial(_step, body) for name, body in BODIES.items() if not body.missing}


def _tasks_like(benchmark: BodyBenchmark) -> dict[int, int]:
    """Position of each task of the first cycle → number of tasks of the run with the same cost."""
    cycle = len(benchmark.bodies)
    return {position: len(range(position, benchmark.tasks, cycle)) for position in range(min(cycle, benchmark.tasks))}


def _test(benchmark: BodyBenchmark, resource: Bodies, position: int) -> tuple[int, int]:
    """Forward passes of the test after a task, and its steps with the body."""
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
