"""The learner against DQN written plainly: a list of transitions, torch's own Adam, one run at a time."""

import numpy as np
import pytest
import torch

from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.uniform import drawn
from tests.agents.value.packs import SMALL, begun
from tests.tenants.packs import packs_of

GAMMA = 0.9


class Plain:
    """One run: its parameters, its target's, and what it has seen."""

    def __init__(self, learner, run: int):
        self.model, self.shape = learner.network.model, learner.network.settings["activation"]
        own = {name: value[run : run + 1].clone() for name, value in learner.network.parameters.items()}
        self.parameters = {name: value.requires_grad_() for name, value in own.items()}
        self.target = {name: value.detach().clone() for name, value in own.items()}
        self.adam = torch.optim.Adam(self.parameters.values(), lr=1e-3, eps=1.5e-4)

    def q(self, parameters, observation) -> torch.Tensor:
        shape = {name: value[:1] for name, value in self.shape.items()}
        x = torch.tensor(observation, dtype=torch.float32).reshape(1, 1, -1) / 255
        return self.model.forward(parameters, shape, x, None)[0]["q"][0, 0]

    def update(self, transitions, at, n: int):
        errors = []
        for step in at:
            value, discount, now = 0.0, 1.0, step
            for _ in range(n):
                _, _, reward, terminated = transitions[now]
                value += discount * reward
                discount *= GAMMA
                now += 1
                if terminated:
                    break
            else:
                with torch.no_grad():
                    value = value + discount * self.following(transitions[now][0])
            observation, action, *_ = transitions[step]
            with torch.no_grad():
                value = value + self.bonus(observation, action)
            errors.append((self.q(self.parameters, observation)[action] - value) ** 2)
        self.adam.zero_grad()
        torch.stack(errors).mean().backward()
        self.adam.step()

    def following(self, observation):
        """The value of a next state."""
        return self.q(self.target, observation).max()

    def bonus(self, observation, action):
        """A number added to the reward of the action taken."""
        return 0.0

    def copy(self):
        self.target = {name: value.detach().clone() for name, value in self.parameters.items()}


@pytest.mark.parametrize("n", [1, 3])
def test_it_learns_what_dqn_written_plainly_learns(n):
    learns_as(Plain, n)


def learns_as(written: type[Plain], n: int, *more: str) -> None:
    """The runs of seeds 0 and 1 learn as they are written plainly, over more than one copy of the target.

    Rewards and ends of episodes are among the drawn steps.
    """
    words = (*SMALL, "agent.update_period=2", "agent.target_period=30", "agent.epsilon_start=0.9", f"agent.n_step={n}")
    words = (*words, f"agent.gamma={GAMMA}", "benchmark.environment_steps=180", "agent.capacity=400", *more)
    learner, chunks = begun(packs_of(*words, "seed=0,1"))
    plain = [written(learner, run) for run in range(2)]
    for chunk in chunks:
        learner.advance(chunk)
    ring, taken = learner.memory.ring, 0
    for run, mine in enumerate(plain):
        arrays = (ring.arrays[name][:180, run, 0] for name in ("frame", "action", "reward", "terminated"))
        transitions, taken = list(zip(*arrays, strict=True)), 0
        assert any(transition[3] for transition in transitions)
        for step in range(61, 181):
            if step % 2 == 0:
                mine.update(transitions, _drawn(learner, run, step, taken), n)
                taken += 1
            if step % 30 == 0:
                mine.copy()
        for name, value in mine.parameters.items():
            torch.testing.assert_close(learner.network.parameters[name][run], value[0].detach(), atol=2e-5, rtol=1e-4)
            torch.testing.assert_close(learner.target.parameters[name][run], mine.target[name][0], atol=2e-5, rtol=1e-4)
    assert taken == learner.network.updates == 60


def _drawn(learner, run: int, step: int, update: int) -> np.ndarray:
    """Which steps the update learned from: the draws are a function of what the ring held then."""
    ring, end, held = learner.memory.ring, learner.memory.ring.end, learner.memory.ring.held
    ring.end = ring.held = step
    try:
        return drawn(ring, NStep(learner.agent.n_step), learner.parts.init_seeds, learner.agent.batch, update).step[run]
    finally:
        ring.end, ring.held = end, held
