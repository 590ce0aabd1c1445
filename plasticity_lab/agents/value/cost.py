"""What a run of a value agent costs, before it starts, and into how long chunks it is cut."""

from math import prod

import numpy as np

from plasticity_lab.agents.acting.cost import STEPS_AN_EPISODE, host_steps, passes_of_tests, steps_of_chunk
from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.update import called_kernels
from plasticity_lab.agents.value.settings import ValueSettings
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.segments import SegmentedTasks
from plasticity_lab.networks.model import Model
from plasticity_lab.replay.ring import bytes_of_step
from plasticity_lab.stacking.run_axis import aligned

BYTES_A_PARAMETER = 44
"""A parameter, its gradient, two moments and one copy for the intervention, in float32; all but the gradient copied;
the target and its copy."""
BOARD_OPERATIONS = 10**9
"""Of an update, below which what it takes whatever the pack's width counts: of 10 × 10 squares, not 84 × 84 pixels."""
BYTES_A_PRIORITY = 16
"""A step's own, twice while a checkpoint is written, and what is needed to sum them up."""


def chunk_steps(agent: ValueSettings, model: Model) -> int:
    """Steps of a chunk at most, all environments of a run together: a function of the run alone, not of its pack."""
    return steps_of_chunk(agent.environments, agent.update_period, _operations(agent, model))


def cost_of(
    agent: ValueSettings, parts: Parts[BodyBenchmark], model: Model, resource: Bodies, tasks: SegmentedTasks
) -> Cost:
    """Steps, operations and bytes of one run; steps and passes of tests are those of the longest episodes there can be.

    One that loses its memory makes fewer updates.
    """
    body = next(iter(resource.by_name.values()))
    steps, rows = tasks.total_steps, aligned(agent.batch)
    between = sum(prod(unit.produced) for unit in model.units)
    numbers = prod(body.observation)
    batch = 2 * rows * numbers * np.dtype(body.dtype).itemsize + 4 * rows * (2 * numbers + 3 * between)
    remembered = min(agent.capacity, steps) // agent.environments * agent.environments
    memory = remembered * bytes_of_step(body)
    priorities = BYTES_A_PRIORITY * remembered if agent.replay == "prioritised" else 0
    return Cost(
        length=steps,
        unit="environment steps",
        updates=agent.timetable.all_updates(steps, agent.environments),
        flops=_operations(agent, model),
        memory=(
            Share(
                (BYTES_A_PARAMETER + 8 * (parts.interventions[0].copies - 1)) * model.size,
                f"the {model.size:,} parameters of its network and its target's",
                "a smaller network.width",
            ),
            Share(batch, "a batch", "a smaller agent.batch"),
        ),
        speed=_yardstick(model, _operations(agent, model)),
        rows=tasks.epochs + parts.benchmark.tasks + steps // STEPS_AN_EPISODE,
        epochs=tasks.epochs,
        parameters=model.size,
        host_memory=(Share(memory + priorities, f"{remembered:,} remembered steps", "a smaller agent.capacity"),),
        forwards=steps // agent.environments + passes_of_tests(parts.benchmark, resource),
        forward_flops=2 * model.work(body.name) * aligned(agent.environments),
        host_steps=host_steps(parts.benchmark, resource, tasks.task_steps),
        graphs=2,
        kernels=True,
        kernel_parts=called_kernels(model, parts.optimizers[0], parts.interventions[0], clipped=False),
        bulk_bytes=memory,
    )


def _yardstick(model: Model, operations: int) -> str:
    """Of the learner's updates, as `Cost.speed` has it."""
    if not any(unit.kind == "channel" for unit in model.units):
        return "dense"
    return "boards" if operations < BOARD_OPERATIONS else "convolving"


def _operations(agent: ValueSettings, model: Model) -> int:
    """Of one update in matrix products and convolutions: three passes of the network, one of its target, and with
    `double` one more of the network.
    """
    return (10 if agent.double else 8) * model.work(model.only_body) * aligned(agent.batch)
