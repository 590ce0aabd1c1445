"""Small packs of SAC, on a slider."""

from pathlib import Path

import torch

from plasticity_lab.agents.sac.learner import SACLearner
from plasticity_lab.assembly import assembled, resources
from plasticity_lab.records.rows import Position
from tests.helpers.packs import CPU

SMALL = (
    "agent=sac",
    "benchmark=mujoco",
    "benchmark.bodies=[sliders]",
    "benchmark.environment_steps=150",
    "benchmark.tasks=2",
    "benchmark.test_episodes=2",
    "network=mlp",
    "network.width=16",
    "agent.batch=8",
    "agent.capacity=160",
    "agent.min_history=60",
    "agent.epoch_steps=50",
)
"""Two tasks of 150 steps: the ring of 160 comes round, an update each step from 60 on."""


def begun(runs, compiled: bool = False, kernels: bool = False) -> tuple[SACLearner, list]:
    """A pack's learner at the beginning of its first task, and the task's chunks."""
    stream, learner = assembled(runs, resources(Path())(runs[0]), CPU, compiled, kernels=kernels)
    task = stream.task(0)
    learner.begin(task, fresh=True)
    return learner, list(task.chunks(Position(0, 0)))


def numbers(learner: SACLearner) -> dict[str, torch.Tensor]:
    """All parameters, log α and the targets', copied."""
    targets = {f"target {n}": x for target in learner.learning.targets.values() for n, x in target.parameters.items()}
    return {name: value.clone() for name, value in (learner.weights() | targets).items()}
