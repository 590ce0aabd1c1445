"""The Rainbow that people write: one run, one environment, eager, nn.Module and torch.optim.Adam, a NumPy sum tree.

It has the details of agent=rainbow (distributions, double, dueling, noisy, three-step returns, priorities), and is what
that agent is compared with in its speed. It shares no code with the agent; the environment is the project's own.

Legend: B steps of a batch, A actions, Z atoms.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from launch.bench.plain_networks import Distributions
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments

GAMMA, STEPS, BATCH, PERIOD, TARGET_PERIOD = 0.99, 3, 32, 4, 8_000
ATOMS, LOW, HIGH, SIGMA = 51, -10.0, 10.0, 0.1
LEARNING_RATE, EPSILON, SMALLEST = 6.25e-5, 1.5e-4, 1e-10


class SumTree:
    """Priorities as the leaves of a binary tree whose every other node is the sum of two."""

    def __init__(self, capacity: int) -> None:
        self.leaves = 1 << (capacity - 1).bit_length()
        self.sums = np.zeros(2 * self.leaves)

    def put(self, places: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Other priorities for these places (B,)."""
        nodes = places + self.leaves
        self.sums[nodes] = values
        while nodes[0] > 1:
            nodes = nodes // 2
            self.sums[nodes] = self.sums[2 * nodes] + self.sums[2 * nodes + 1]

    def draw(self, size: int, draws: np.random.Generator) -> NDArray[np.int64]:
        """Places (B,), one out of each of B equal shares of the sum."""
        wanted = (np.arange(size) + draws.random(size)) / size * self.sums[1]
        nodes = np.ones(size, np.int64)
        while nodes[0] < self.leaves:
            nodes = 2 * nodes
            right = wanted >= self.sums[nodes]
            wanted = np.where(right, wanted - self.sums[nodes], wanted)
            nodes = nodes + right
        return nodes - self.leaves


class Buffer:
    """The last `capacity` steps with what followed n steps later, both as stacks of frames, drawn by priority."""

    def __init__(self, body: Body, capacity: int, draws: np.random.Generator) -> None:
        self.capacity, self.draws, self.end, self.largest = capacity, draws, 0, 1.0
        self.arrays: dict[str, NDArray[Any]] = {
            "x": np.zeros((capacity, *body.observation), body.dtype),
            "following": np.zeros((capacity, *body.observation), body.dtype),
            "action": np.zeros(capacity, np.int64),
            "returns": np.zeros(capacity, np.float32),
            "discount": np.zeros(capacity, np.float32),
        }
        self.tree = SumTree(capacity)

    def add(self, **step: Any) -> None:
        """A step, in the place of the oldest where there is no room."""
        place = self.end % self.capacity
        for name, value in step.items():
            self.arrays[name][place] = value
        self.tree.put(np.array([place]), np.array([self.largest]))
        self.end += 1

    def sample(self) -> tuple[NDArray[np.int64], dict[str, Tensor]]:
        """Places (B,), and what `PlainRainbow.losses` takes, with "importance" (B,)."""
        places = self.tree.draw(BATCH, self.draws)
        weights = 1 / np.sqrt(self.tree.sums[places + self.tree.leaves] + SMALLEST)
        batch = {name: torch.from_numpy(array[places]) for name, array in self.arrays.items()}
        return places, batch | {"importance": torch.from_numpy((weights / weights.max()).astype(np.float32))}

    def learned(self, places: NDArray[np.int64], losses: Tensor) -> None:
        """New priorities, √loss."""
        priorities = np.sqrt(losses.numpy().astype(np.float64) + SMALLEST)
        self.largest = max(self.largest, priorities.max())
        self.tree.put(places, priorities)


class PlainRainbow:
    """One run in one environment of a body that shows pixels.

    network: small_impala, nature or impala. tuned: channels last in memory, and Adam's fused form. history: steps that
    are acted before anything is learned. sigma: the noise's deviations at first, times √inputs.
    """

    def __init__(
        self, body: Body, network: str, capacity: int, history: int, tuned: bool = False, seed: int = 0,
        sigma: float = SIGMA, device: str = "cpu",
    ) -> None:  # fmt: skip
        torch.manual_seed(seed)  # noqa: TID251 (a script of its own, which seeds as such scripts do)
        self.environment = Environments(body, [seed], 1, 0)
        self.layout = torch.channels_last if tuned else torch.contiguous_format
        self.network, self.target = (
            Distributions(network, body.observation, body.actions, ATOMS, sigma) for _ in range(2)
        )
        for value in [*self.network.parameters(), *self.target.parameters()]:
            if value.ndim == 4:
                value.data = self.laid(value.data)
        self.target.load_state_dict(self.network.state_dict())
        self.target.requires_grad_(False)
        self.device = torch.device(device)
        self.network.to(self.device)
        self.target.to(self.device)
        self.support = torch.linspace(LOW, HIGH, ATOMS, device=self.device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE, eps=EPSILON, fused=tuned)
        self.buffer, self.step = Buffer(body, capacity, np.random.default_rng(seed)), 0
        self.recent: deque[tuple[NDArray[Any], int, float]] = deque()
        for _ in range(history):
            self.act()

    def burst(self, updates: int) -> None:
        """So many updates, each after four steps of the environment."""
        for _ in range(updates):
            for _ in range(PERIOD):
                self.act()
            places, batch = self.buffer.sample()
            there = {name: value.to(self.device) for name, value in batch.items()}
            self.buffer.learned(places, self.update(there).cpu())
            if self.step % TARGET_PERIOD < PERIOD:
                self.target.load_state_dict(self.network.state_dict())

    @torch.no_grad()
    def act(self) -> None:
        """A step of the environment; what can be learned from by now goes into the buffer."""
        seen = self.environment.observations[0]
        action = int(self.values(self.network(self.laid(torch.from_numpy(seen).to(self.device)))).argmax())
        outcome = self.environment.step(np.array([[action]]))
        self.step += 1
        self.recent.append((seen[0], action, float(np.clip(outcome.rewards[0, 0], -1, 1))))
        if outcome.terminated[0, 0]:
            while self.recent:
                self.remember(outcome.last[0, 0], 0.0)
        elif len(self.recent) == STEPS:
            self.remember(outcome.last[0, 0], GAMMA**STEPS)
        if outcome.truncated[0, 0]:
            self.recent.clear()

    def remember(self, following: NDArray[Any], discount: float) -> None:
        """The oldest of the last steps, and what was earned from there on."""
        returns = sum(GAMMA**i * reward for i, (_, _, reward) in enumerate(self.recent))
        x, action, _ = self.recent.popleft()
        self.buffer.add(x=x, action=action, returns=returns, following=following, discount=discount)

    def update(self, batch: Mapping[str, Tensor]) -> Tensor:
        """One update; the losses of the batch's steps before it, (B,)."""
        losses = self.losses(batch)
        self.optimizer.zero_grad()
        (losses * batch["importance"]).mean().backward()
        self.optimizer.step()
        return losses.detach()

    def losses(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Cross-entropies, (B,).  batch: "x", "following" (B, C, S, S) uint8; "action", "returns", "discount" (B,)."""
        every = torch.arange(len(batch["action"]), device=self.device)
        target = self.projected(batch, every)
        return -(target * self.network(self.laid(batch["x"]))[every, batch["action"]]).sum(dim=1)

    @torch.no_grad()
    def projected(self, batch: Mapping[str, Tensor], every: Tensor) -> Tensor:
        """What the distributions should be, (B, Z).  Source: Bellemare et al. 2017, algorithm 1."""
        following = self.laid(batch["following"])
        best = self.values(self.network(following)).argmax(dim=1)
        then = self.target(following)[every, best].exp()
        moved = batch["returns"].unsqueeze(1) + batch["discount"].unsqueeze(1) * self.support
        place = (moved.clamp(LOW, HIGH) - LOW) / ((HIGH - LOW) / (ATOMS - 1))
        below = place.floor().clamp(0, ATOMS - 2)
        share, at = place - below, below.long()
        found = torch.zeros_like(then)
        return found.scatter_add_(1, at, then * (1 - share)).scatter_add_(1, at + 1, then * share)

    def values(self, logs: Tensor) -> Tensor:
        """(B, A, Z) → (B, A)."""
        return (logs.exp() * self.support).sum(dim=2)

    def laid(self, images: Tensor) -> Tensor:
        """Images, or a convolution's weights, as they are to lie in memory."""
        return images.contiguous(memory_format=self.layout)
