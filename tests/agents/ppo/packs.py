"""Small packs of PPO, on cart-pole and on made-up bodies."""

from pathlib import Path

import torch

from plasticity_lab.agents.agent import Learner
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.assembly import agent_of, resources
from plasticity_lab.environments import bodies
from plasticity_lab.records.rows import Position
from tests.helpers.made_up_bodies import CHOSEN, SLIDERS
from tests.helpers.packs import CPU

SMALL = (
    "benchmark=classic_cycle",
    "agent=ppo",
    "network.width=16",
    "agent.rollout=32",
    "agent.minibatches=4",
    "agent.epochs=2",
    "benchmark.environment_steps=96",
    "benchmark.tasks=2",
)
BOTH = (*SMALL, "benchmark.bodies=[sliders,chosen]", "benchmark.tasks=3")
CLEANRL = (
    *BOTH,
    "agent=ppo_cleanrl",
    "network.separate_value_trunk=true",
    "activation=tanh",
    "network.init=orthogonal",
)
ONE = (*SMALL, "benchmark.bodies=[sliders]", "benchmark.tasks=1")


def there_are(monkeypatch, *more) -> None:
    """Adds the made-up bodies to those there are."""
    for body in (SLIDERS, CHOSEN, *more):
        monkeypatch.setitem(bodies.BODIES, body.name, body)


def begun(
    runs, task: int = 0, compiled: bool = False, kernels: bool = False, observed: bool = False
) -> tuple[Learner, list]:
    """A pack's learner at the beginning of a task, and the task's rollouts."""
    parts = parts_of(runs, kernels=kernels, observed=observed)
    stream, learner = agent_of(runs[0]).learner(parts, resources(Path())(runs[0]), CPU, compiled)
    begins = stream.task(task)
    learner.begin(begins, fresh=True)
    return learner, list(begins.chunks(Position(task, 0)))


def numbers(learner: Learner) -> dict[str, torch.Tensor]:
    """Parameters and moments, copied."""
    network = learner.network
    kinds = {"": network.parameters, **{f"{kind} ": values for kind, values in network.moments.items()}}
    return {f"{kind}{name}": value.clone() for kind, values in kinds.items() for name, value in values.items()}
