"""Small packs of DQN, on the board of Catch and on made-up bodies."""

from pathlib import Path
from typing import Any

import torch

from plasticity_lab.agents.value.learner import ValueLearner
from plasticity_lab.assembly import assembled, resources
from plasticity_lab.benchmarks.bodies.stream import Stage
from plasticity_lab.records.rows import Position, Rows
from tests.helpers.packs import CPU

AGENTS = ("dqn", "rainbow_lite", "rainbow", "der")
SHORT = (
    "benchmark.environment_steps=300",
    "benchmark.tasks=2",
    "benchmark.test_episodes=2",
    "network=mlp",
    "network.width=16",
    "optimizer.lr=1e-3",
    "agent.batch=8",
    "agent.capacity=160",
    "agent.min_history=60",
    "agent.target_period=70",
    "agent.epsilon_decay=200",
    "agent.epoch_steps=90",
)
"""Two tasks of 300 steps: the ring of 160 comes round, an update every 4 steps from 60 on, and eight copies."""
DQN = ("agent=dqn", *SHORT)
SMALL = (*DQN, "benchmark=catch", "benchmark.balls=2")
BY_AGENT = {name: (f"agent={name}", *SMALL[1:]) for name in AGENTS}
BY_KERNELS = {"compiled": True, "kernels": True}
CHOSEN = (*DQN, "benchmark=classic_cycle", "benchmark.bodies=[chosen]")
"""Numbers in place of pixels, and episodes that are truncated: one of the made-up bodies."""


def begun(runs, task: int = 0, compiled: bool = False, kernels: bool = False) -> tuple[ValueLearner, list[Any]]:
    """A pack's learner at the beginning of a task, and the task's chunks."""
    stream, learner = assembled(runs, resources(Path())(runs[0]), CPU, compiled, kernels=kernels)
    begins = stream.task(task)
    learner.begin(begins, fresh=True)
    return learner, list(begins.chunks(Position(task, 0)))


def task_of(runs, position: int = 0) -> Stage:
    """The task at that position of the pack."""
    return assembled(runs, resources(Path())(runs[0]), CPU, False)[0].task(position)


def advanced(learner: ValueLearner, chunks) -> list[Rows]:
    """What the learner measures in these chunks."""
    return [learner.advance(chunk) for chunk in chunks]


def numbers(learner: ValueLearner) -> dict[str, torch.Tensor]:
    """Parameters, moments and the target's parameters, copied."""
    network = learner.network
    kinds = {"": network.parameters, "target ": learner.target.parameters}
    kinds |= {f"{kind} ": values for kind, values in network.moments.items()}
    return {f"{kind}{name}": value.clone() for kind, values in kinds.items() for name, value in values.items()}
