"""What a run of PPO costs, before it starts."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.update import fuses
from plasticity_lab.benchmarks.bodies.benchmark import Bodies, BodyCycle
from plasticity_lab.benchmarks.bodies.stream import Stages
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import aligned

if TYPE_CHECKING:
    from plasticity_lab.agents.ppo.agent import PPO

BYTES_A_PARAMETER = 32
"""A parameter, its gradient, two moments and one copy for the intervention, in float32, and all but the gradient
copied."""
NUMBERS_A_STEP = 16
"""Kept of a step beside what was observed and done: values, rewards, probabilities, as tables and as tensors."""
STEPS_AN_EPISODE = 100
"""Guessed, for the number of rows that a run's episodes make."""


def cost_of(agent: "PPO", parts: Parts, model: Model, resource: Bodies) -> Cost:
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
    tests = [_test(parts.benchmark, resource, position) for position in range(parts.benchmark.tasks)]
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
        parameters=model.size,
        forwards=rollouts * (agent.rollout + 1) + sum(steps for steps, _ in tests),
        forward_flops=2 * work * aligned(agent.environments),
        host_steps=_host_steps(parts, stages, tests),
        graphs=2 * len({body.name for body in bodies}),
        kernels=True,
        fused=fuses(parts.optimizers[0], parts.interventions[0], clipped=agent.max_norm is not None),
    )


def steps_of_bodies() -> Mapping[str, Callable[[int], object]]:
    """For each body that can be built here, what takes that many steps of it with actions drawn at random."""
    return {name: partial(_step, body) for name, body in BODIES.items() if not body.missing}


def _test(benchmark: BodyCycle, resource: Bodies, position: int) -> tuple[int, int]:
    """The passes of the test after a task, and the steps of its body."""
    body = resource.by_name[benchmark.body_of(position)]
    frictions = benchmark.test_frictions(body)
    return (0, 0) if frictions is None else (body.max_steps, body.max_steps * len(frictions))


def _host_steps(parts: Parts, stages: Stages, tests: Sequence[tuple[int, int]]) -> dict[str, int]:
    """Body → its steps in the whole run."""
    steps: dict[str, int] = {}
    for position in range(parts.benchmark.tasks):
        body = parts.benchmark.body_of(position)
        steps[body] = steps.get(body, 0) + stages.rollouts * stages.steps + tests[position][1]
    return steps


def _step(body: Body, steps: int) -> None:
    environments, draw = Environments(body, [0], 1, 0), host_stream(0, "timing", body.name)
    for _ in range(steps):
        if body.discrete:
            environments.step(draw.integers(0, body.actions, (1, 1)))
        else:
            environments.step(draw.uniform(body.low, body.high, (1, 1, body.actions)).astype(np.float32))
