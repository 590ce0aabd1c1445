"""The PPO that people write: one run, one environment, eager, nn.Module and torch.optim.Adam, Gymnasium's wrappers.

    python -m launch.bench.plain_ppo --body HalfCheetah-v5 --seed 0 --out FOLDER [--steps 1000000]

It has every detail of CleanRL's ppo_continuous_action (https://docs.cleanrl.dev/rl-algorithms/ppo/). The curves and the
speed of `agent=ppo_cleanrl` are compared with this script's. It shares no code with the agent.
"""

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Normal

from launch.bench.plain_command import command
from plasticity_lab.process.exits import leave, status_of

ROLLOUT, MINIBATCH, EPOCHS = 2048, 64, 10
GAMMA, GAE_LAMBDA, CLIP = 0.99, 0.95, 0.2
VALUE_WEIGHT, MAX_NORM, LEARNING_RATE, EPSILON = 0.5, 0.5, 3e-4, 1e-5


def environment(gymnasium_id: str) -> gymnasium.Env[Any, Any]:
    """The environment in the wrappers of the source, in the same sequence."""
    made: gymnasium.Env[Any, Any] = gymnasium.make(gymnasium_id)
    made = gymnasium.wrappers.FlattenObservation(made)
    made = gymnasium.wrappers.RecordEpisodeStatistics(made)
    made = gymnasium.wrappers.ClipAction(made)
    made = gymnasium.wrappers.NormalizeObservation(made)
    made = gymnasium.wrappers.TransformObservation(made, lambda seen: np.clip(seen, -10, 10), made.observation_space)
    made = gymnasium.wrappers.NormalizeReward(made, gamma=GAMMA)
    return gymnasium.wrappers.TransformReward(made, lambda reward: float(np.clip(reward, -10, 10)))


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    """A linear layer with orthogonal weights and no bias at first."""
    made = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(made.weight, gain)
    nn.init.zeros_(made.bias)
    return made


def network(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Two hidden layers of 64 units.  gain: scales the last layer's weights."""
    return nn.Sequential(layer(inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, outputs, gain))


class PlainPPO:
    """One run of `total` steps.  episodes: the ended ones, each as (step of its end, return, length)."""

    def __init__(self, gymnasium_id: str, seed: int, total: int) -> None:
        torch.manual_seed(seed)  # noqa: TID251 (a separate script, which seeds as such scripts do)
        self.shuffles = np.random.default_rng(seed)
        self.environment = environment(gymnasium_id)
        self.total, self.step = total, 0
        self.episodes: list[tuple[int, float, int]] = []
        inputs, actions = self.environment.observation_space.shape[0], self.environment.action_space.shape[0]
        self.critic, self.actor = network(inputs, 1, 1.0), network(inputs, actions, 0.01)
        self.log_std = nn.Parameter(torch.zeros(1, actions))
        self.parameters = [*self.critic.parameters(), *self.actor.parameters(), self.log_std]
        self.optimizer = torch.optim.Adam(self.parameters, lr=LEARNING_RATE, eps=EPSILON)
        first, _ = self.environment.reset(seed=seed)
        self.observation, self.done = torch.as_tensor(first, dtype=torch.float32), 0.0
        self.store = {
            "observations": torch.zeros(ROLLOUT, inputs),
            "actions": torch.zeros(ROLLOUT, actions),
            "log_probs": torch.zeros(ROLLOUT),
            "rewards": torch.zeros(ROLLOUT),
            "dones": torch.zeros(ROLLOUT),
            "values": torch.zeros(ROLLOUT),
        }

    def burst(self) -> None:
        """A rollout, and all updates by it."""
        self.optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - self.step / self.total)
        self.act()
        advantages = self.advantages()
        self.learn(advantages, advantages + self.store["values"])

    def policy(self, observations: Tensor) -> Normal:
        """The distribution of actions for observations (..., D)."""
        mean = self.actor(observations)
        return Normal(mean, self.log_std.expand_as(mean).exp())

    @torch.no_grad()
    def act(self) -> None:
        """Steps the environment for a rollout; observations, actions and rewards go into `store`."""
        store = self.store
        for at in range(ROLLOUT):
            store["observations"][at], store["dones"][at] = self.observation, self.done
            policy = self.policy(self.observation.unsqueeze(0))
            action = policy.sample()
            store["actions"][at] = action[0]
            store["log_probs"][at] = policy.log_prob(action).sum()
            store["values"][at] = self.critic(self.observation)[0]
            seen, reward, terminated, truncated, facts = self.environment.step(action[0].numpy())
            self.step += 1
            self.done = float(terminated or truncated)
            if self.done:
                self.episodes.append((self.step, float(facts["episode"]["r"]), int(facts["episode"]["l"])))
                seen, _ = self.environment.reset()
            store["rewards"][at] = float(reward)
            self.observation = torch.as_tensor(seen, dtype=torch.float32)

    @torch.no_grad()
    def advantages(self) -> Tensor:
        """Generalised advantage estimation; an episode that was cut off counts as ended, (T,)."""
        store, advantages = self.store, torch.zeros(ROLLOUT)
        following, done, running = self.critic(self.observation)[0], self.done, torch.tensor(0.0)
        for at in reversed(range(ROLLOUT)):
            delta = store["rewards"][at] + GAMMA * following * (1 - done) - store["values"][at]
            running = delta + GAMMA * GAE_LAMBDA * (1 - done) * running
            advantages[at] = running
            following, done = store["values"][at], store["dones"][at]
        return advantages

    def learn(self, advantages: Tensor, targets: Tensor) -> None:
        """Ten passes over the rollout, each in a new order."""
        for _ in range(EPOCHS):
            order = torch.from_numpy(self.shuffles.permutation(ROLLOUT))
            for rows in order.split(MINIBATCH):
                self.optimizer.zero_grad()
                self.loss(rows, advantages[rows], targets[rows]).backward()
                nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
                self.optimizer.step()

    def loss(self, rows: Tensor, advantages: Tensor, targets: Tensor) -> Tensor:
        """The clipped objective and the clipped error of the value, for these rows of the rollout."""
        store = self.store
        log_probs = self.policy(store["observations"][rows]).log_prob(store["actions"][rows]).sum(dim=1)
        ratio = (log_probs - store["log_probs"][rows]).exp()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy_loss = torch.max(-advantages * ratio, -advantages * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
        values, before = self.critic(store["observations"][rows])[:, 0], store["values"][rows]
        near = before + (values - before).clamp(-CLIP, CLIP)
        value_loss = 0.5 * torch.max((values - targets).square(), (near - targets).square()).mean()
        return policy_loss + VALUE_WEIGHT * value_loss


if __name__ == "__main__":
    leave(status_of(partial(command, "plain_ppo", __doc__, PlainPPO, steps=1_000_000, at_once=ROLLOUT)))
