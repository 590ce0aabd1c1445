"""The SAC that people write: one run, one environment, eager, nn.Module and torch.optim.Adam, a memory of NumPy arrays.

    python -m launch.bench.plain_sac --body HalfCheetah-v5 --seed 0 --out FOLDER [--steps 100000]

It has every detail of CleanRL's sac_continuous_action (https://docs.cleanrl.dev/rl-algorithms/sac/) that affects
learning. The returns of `agent=sac` are compared with this script's. It shares no code with the agent. Two differences
from the source save a seventh of its time and change last digits. Adam is fused, and the critics have no gradients
while only the actor learns.

Legend: B steps of a batch, D numbers of an observation, A of an action.
"""

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn
from torch.distributions import Normal
from torch.nn.functional import mse_loss

from launch.bench.plain_command import command
from plasticity_lab.process.exits import leave, status_of

CAPACITY, BATCH, WIDTH = 1_000_000, 256, 256
LEARNING_STARTS, POLICY_PERIOD, STEPS_OF_A_BURST = 5_000, 2, 1_000
GAMMA, TAU = 0.99, 0.005
CRITIC_RATE, ACTOR_RATE = 1e-3, 3e-4
LOWEST, HIGHEST, SMALL = -5.0, 2.0, 1e-6
"""LOWEST, HIGHEST: bounds of a deviation's logarithm. SMALL: keeps the correction's logarithm away from log 0."""


class Memory:
    """The steps of a run: observation, action, reward, following observation, and whether the last one is terminal."""

    def __init__(self, capacity: int, inputs: int, actions: int, draws: np.random.Generator) -> None:
        self.draws, self.size = draws, 0
        widths = {"seen": inputs, "action": actions, "reward": 1, "following": inputs, "terminal": 1}
        self.arrays = {name: np.zeros((capacity, width), np.float32) for name, width in widths.items()}

    def add(self, **step: Any) -> None:
        """Keeps a step; the run is no longer than the memory."""
        for name, values in self.arrays.items():
            values[self.size] = step[name]
        self.size += 1

    def batch(self) -> list[Tensor]:
        """Steps drawn with replacement: seen, following (B, D), action (B, A), reward, terminal (B, 1); as `arrays`."""
        places = self.draws.integers(0, self.size, BATCH)
        return [torch.from_numpy(values[places]) for values in self.arrays.values()]


class Actor(nn.Module):
    """Two hidden layers; a mean and the logarithm of a deviation for each number of an action."""

    def __init__(self, space: Box, inputs: int) -> None:
        super().__init__()
        actions = space.shape[0]
        self.trunk = nn.Sequential(nn.Linear(inputs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.mean, self.log_std = nn.Linear(WIDTH, actions), nn.Linear(WIDTH, actions)
        self.scale = torch.as_tensor((space.high - space.low) / 2)
        self.middle = torch.as_tensor((space.high + space.low) / 2)

    def draw(self, seen: Tensor) -> tuple[Tensor, Tensor]:
        """An action of each observation (B, D): (B, A), within the bounds, and the logarithm of its density, (B, 1)."""
        h = self.trunk(seen)
        log_std = LOWEST + 0.5 * (HIGHEST - LOWEST) * (torch.tanh(self.log_std(h)) + 1)
        policy = Normal(self.mean(h), log_std.exp())
        drawn = policy.rsample()
        squashed = torch.tanh(drawn)
        density = policy.log_prob(drawn) - torch.log(self.scale * (1 - squashed.square()) + SMALL)
        return squashed * self.scale + self.middle, density.sum(1, keepdim=True)


def critic(inputs: int) -> nn.Sequential:
    """Two hidden layers; the value of an observation and an action side by side."""
    return nn.Sequential(nn.Linear(inputs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))


class PlainSAC:
    """One run of `total` steps.  episodes: the ended ones, each as (step of its end, return, length)."""

    def __init__(self, gymnasium_id: str, seed: int, total: int) -> None:
        torch.manual_seed(seed)  # noqa: TID251 (a separate script, which seeds as such scripts do)
        made: gymnasium.Env[Any, Any] = gymnasium.make(gymnasium_id)
        self.environment = gymnasium.wrappers.RecordEpisodeStatistics(made)
        self.environment.action_space.seed(seed)
        self.step, self.episodes = 0, list[tuple[int, float, int]]()
        seen, act = self.environment.observation_space, self.environment.action_space
        assert isinstance(seen, Box)
        assert isinstance(act, Box)
        inputs, actions = seen.shape[0], act.shape[0]
        self.memory = Memory(min(CAPACITY, total + STEPS_OF_A_BURST), inputs, actions, np.random.default_rng(seed))
        self.actor = Actor(act, inputs)
        self.critics = nn.ModuleList([critic(inputs + actions) for _ in range(2)])
        self.targets = nn.ModuleList([critic(inputs + actions) for _ in range(2)])
        self.targets.load_state_dict(self.critics.state_dict())
        self.log_alpha, self.wanted = torch.zeros(1, requires_grad=True), -float(actions)
        self.of_critics = torch.optim.Adam(self.critics.parameters(), lr=CRITIC_RATE, fused=True)
        self.of_actor = torch.optim.Adam(self.actor.parameters(), lr=ACTOR_RATE, fused=True)
        self.of_alpha = torch.optim.Adam([self.log_alpha], lr=CRITIC_RATE, fused=True)
        self.seen, _ = self.environment.reset(seed=seed)

    def burst(self) -> None:
        """A thousand steps, and the updates between them."""
        for _ in range(STEPS_OF_A_BURST):
            self.act()
            if self.step > LEARNING_STARTS:
                self.learn()
            self.step += 1

    def act(self) -> None:
        """A step of the environment."""
        if self.step < LEARNING_STARTS:
            action = self.environment.action_space.sample()
        else:
            with torch.no_grad():
                action = self.actor.draw(torch.as_tensor(self.seen[None], dtype=torch.float32))[0][0].numpy()
        following, reward, terminated, truncated, facts = self.environment.step(action)
        self.memory.add(seen=self.seen, action=action, reward=reward, following=following, terminal=terminated)
        if terminated or truncated:
            self.episodes.append((self.step + 1, float(facts["episode"]["r"]), int(facts["episode"]["l"])))
            following, _ = self.environment.reset()
        self.seen = following

    def learn(self) -> None:
        """Updates the critics and the targets, and the actor and the temperature when they are due."""
        seen, action, reward, following, terminal = self.memory.batch()
        alpha = self.log_alpha.exp().item()
        with torch.no_grad():
            then, density = self.actor.draw(following)
            least = self.least(self.targets, following, then) - alpha * density
            target = reward + GAMMA * (1 - terminal) * least
        both = torch.cat([seen, action], 1)
        loss = torch.stack([mse_loss(each(both), target) for each in self.critics]).sum()
        self.of_critics.zero_grad()
        loss.backward()
        self.of_critics.step()
        if self.step % POLICY_PERIOD == 0:
            self.critics.requires_grad_(False)
            for _ in range(POLICY_PERIOD):
                self.learn_to_act(seen)
            self.critics.requires_grad_(True)
        with torch.no_grad():
            for target_value, source in zip(self.targets.parameters(), self.critics.parameters(), strict=True):
                target_value.copy_(TAU * source + (1 - TAU) * target_value)

    def learn_to_act(self, seen: Tensor) -> None:
        """An update of the actor, and of the temperature by newly drawn actions."""
        action, density = self.actor.draw(seen)
        loss = (self.log_alpha.exp().item() * density - self.least(self.critics, seen, action)).mean()
        self.of_actor.zero_grad()
        loss.backward()
        self.of_actor.step()
        with torch.no_grad():
            _, density = self.actor.draw(seen)
        loss = (-self.log_alpha.exp() * (density + self.wanted)).mean()
        self.of_alpha.zero_grad()
        loss.backward()
        self.of_alpha.step()

    @staticmethod
    def least(critics: nn.ModuleList, seen: Tensor, action: Tensor) -> Tensor:
        """The lesser of two critics' values, (B, 1)."""
        both = torch.cat([seen, action], 1)
        return torch.min(*(each(both) for each in critics))


if __name__ == "__main__":
    leave(status_of(partial(command, "plain_sac", __doc__, PlainSAC, steps=100_000, at_once=STEPS_OF_A_BURST)))
