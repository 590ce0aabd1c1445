"""What a run of SAC costs, before it starts, and into how long chunks it is cut."""

from collections.abc import Mapping
from math import prod

from plasticity_lab.agents.acting.cost import STEPS_AN_EPISODE, host_steps, passes_of_tests, steps_of_chunk
from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.sac.settings import SACSettings
from plasticity_lab.agents.sac.step import ACTOR
from plasticity_lab.agents.update import called_kernels
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.segments import SegmentedTasks
from plasticity_lab.networks.model import Model
from plasticity_lab.replay.ring import bytes_of_step
from plasticity_lab.stacking.run_axis import aligned

BYTES_A_PARAMETER = 44
"""A parameter, its gradient, two moments and one copy for the intervention, in float32; all but the gradient copied; a
critic's target and its copy."""


def chunk_steps(agent: SACSettings, operations: int) -> int:
    """Steps of a chunk at most, all environments of a run together: a function of the run alone, not of its pack.

    operations: of an update.
    """
    return steps_of_chunk(agent.environments, agent.update_period, operations)


def cost_of(
    agent: SACSettings,
    parts: Parts[BodyBenchmark],
    models: Mapping[str, Model],
    resource: Bodies,
    tasks: SegmentedTasks,
    operations: int,
) -> Cost:
    """Steps, operations and bytes of one run; steps and passes of tests are those of the longest episodes there can be.

    models: by the names of its networks, the one that acts first. operations: of an update.

    One that loses its memory makes fewer updates.
    """
    body = next(iter(resource.by_name.values()))
    steps, rows = tasks.total_steps, aligned(agent.batch)
    acting, *_ = models.values()
    size = sum(model.size for model in models.values())
    between = sum(prod(unit.produced) for model in models.values() for unit in model.units)
    batch = 4 * rows * (4 * (prod(body.observation) + body.actions) + 3 * between)
    remembered = min(agent.capacity, steps) // agent.environments * agent.environments
    memory = remembered * bytes_of_step(body)
    optimizers, interventions = parts.optimizers, parts.interventions
    called = {
        part
        for model in models.values()
        for part in called_kernels(model, optimizers[0], interventions[0], clipped=False)
    }
    return Cost(
        length=steps,
        unit="environment steps",
        updates=agent.timetable.all_updates(steps, agent.environments),
        flops=operations,
        memory=(
            Share(
                (BYTES_A_PARAMETER + 8 * (parts.interventions[0].copies - 1)) * size,
                f"the {size:,} parameters of its networks and the critics' targets",
                "a smaller network.width" if ACTOR in models else "a smaller network.channels",
            ),
            Share(batch, "a batch", "a smaller agent.batch"),
        ),
        speed="dense",
        rows=tasks.epochs + parts.benchmark.tasks + steps // STEPS_AN_EPISODE,
        epochs=tasks.epochs,
        parameters=size,
        host_memory=(Share(memory, f"{remembered:,} remembered steps", "a smaller agent.capacity"),),
        forwards=steps // agent.environments + passes_of_tests(parts.benchmark, resource),
        forward_flops=2 * acting.work(body.name) * aligned(agent.environments),
        host_steps=host_steps(parts.benchmark, resource, tasks.task_steps),
        graphs=3 if ACTOR in models else 2,
        kernels=ACTOR in models,
        kernel_parts=sorted(called) if ACTOR in models else (),
        bulk_bytes=memory,
    )


def apart_operations(agent: SACSettings, actor: Model, critic: Model) -> int:
    """Of one update of the critics and one of the actor, in matrix products.

    Both critics forward and backward (3 passes each), their targets (1), what the actor does next (1); the actor
    forward and backward (3) through the critics (2 each); and once more for the temperature (1). A pass is two
    operations for each multiplication.
    """
    critics, own = 2 * critic.work(critic.only_body), actor.work(actor.only_body)
    return 2 * (6 * critics + 5 * own) * aligned(agent.batch)


def shared_operations(agent: SACSettings, model: Model) -> int:
    """Of one update of one network for everything, in matrix products.

    Forward and backward (3 passes), the target's two, and one that values the action that the actor draws, whose way
    back leaves out the convolutions (a pass at most). A pass is two operations for each multiplication.
    """
    return 2 * 7 * model.work(model.only_body) * aligned(agent.batch)
