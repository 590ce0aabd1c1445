"""What a run of PPO costs, before it starts."""

from collections.abc import Sequence
from math import prod

from plasticity_lab.agents.acting.cost import STEPS_AN_EPISODE, host_steps, passes_of_tests
from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.ppo.normalise import Normaliser
from plasticity_lab.agents.ppo.settings import PPOSettings
from plasticity_lab.agents.ppo.statistics import kept_of
from plasticity_lab.agents.update import called_kernels
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import Stages
from plasticity_lab.environments.body import Body
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.run_axis import aligned

BYTES_A_PARAMETER = 32
"""A parameter, its gradient, two moments and one copy for the intervention, in float32, and all but the gradient
copied."""
NUMBERS_A_STEP = 16
"""Kept of a step beside what was observed and done: values, rewards, probabilities, as tables and as tensors."""


def cost_of(agent: PPOSettings, parts: Parts[BodyBenchmark], model: Model, resource: Bodies) -> Cost:
    """Steps, operations and bytes of one run: means over the bodies, each of which has as many tasks.

    Steps and passes of tests are those of the longest episodes that there can be.
    """
    stages = Stages(parts.benchmark, agent.steps)
    bodies = [resource.by_name[name] for name in parts.benchmark.bodies]
    rollouts = parts.benchmark.tasks * stages.rollouts
    work = sum(model.work(body.name) for body in bodies) // len(bodies)
    size = aligned(agent.steps // agent.minibatches)
    widest = max(prod(body.observation) + 2 * body.actions for body in bodies)
    between = sum(prod(unit.produced) for unit in model.units)
    clipped = agent.max_norm is not None
    rollout = 4 * agent.steps * (2 * widest + NUMBERS_A_STEP) + 16 * agent.steps * agent.epochs
    return Cost(
        length=stages.total_steps,
        unit="environment steps",
        updates=rollouts * agent.minibatches * agent.epochs,
        flops=6 * work * size,
        memory=(
            Share(
                (BYTES_A_PARAMETER + 8 * (parts.interventions[0].copies - 1)) * model.size,
                f"the {model.size:,} parameters of its network",
                "a smaller network.width",
            ),
            Share(rollout + 8 * size * between, "its rollout", "a smaller agent.rollout"),
        ),
        speed="ppo",
        rows=rollouts + parts.benchmark.tasks + stages.total_steps // STEPS_AN_EPISODE,
        epochs=rollouts,
        parameters=model.size,
        forwards=rollouts * (agent.rollout + 1) + passes_of_tests(parts.benchmark, resource),
        forward_flops=2 * work * aligned(agent.environments),
        host_steps=host_steps(parts.benchmark, resource, stages.rollouts * stages.steps),
        graphs=2 * len({body.name for body in bodies}),
        kernels=True,
        kernel_parts=called_kernels(model, parts.optimizers[0], parts.interventions[0], clipped),
        statistics=_statistics(agent, bodies),
    )


def _statistics(agent: PPOSettings, bodies: Sequence[Body]) -> list[int]:
    """Bytes of each tensor that is kept of what scales observations and rewards."""
    normalisers = {body.name: Normaliser(1, agent.environments, (prod(body.observation),)) for body in bodies}
    return [value.nbytes for value in kept_of(normalisers, agent.scales).values()]
