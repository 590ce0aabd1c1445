"""The Rainbow that people write: one run, one environment, eager, nn.Module and torch.optim.Adam, a NumPy sum tree.

It has the details of agent=rainbow (distributions, double, dueling, noisy, three-step returns, priorities); the speed
of that agent is compared with this script's. It shares no code with the agent; the environment is the project's.

Legend: B steps of a batch, A actions, Z atoms, C channels, S pixels of an image's side.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments

GAMMA, STEPS, BATCH, PERIOD, TARGET_PERIOD = 0.99, 3, 32, 4, 8_000
ATOMS, LOW, HIGH, SIGMA = 51, -10.0, 10.0, 0.1
LEARNING_RATE, EPSILON, SMALLEST = 6.25e-5, 1.5e-4, 1e-10
HIDDEN = {"small_impala": 128, "nature": 512, "impala": 512}
STACKS = {"small_impala": (16,), "impala": (16, 32, 32)}
CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""The convolutions of nature: channels, kernel, stride."""


def same(x: Tensor, size: int, stride: int, value: float) -> Tensor:
    """Square images with as much around them as JAX's padding SAME lays: half before, an odd pixel behind."""
    side = x.shape[-1]
    missing = max((-(-side // stride) - 1) * stride + size - side, 0)
    before, behind = missing // 2, missing - missing // 2
    return functional.pad(x, (before, behind, before, behind), value=value) if missing else x


class SameConv(nn.Module):
    """A convolution that leaves S / stride pixels of a side, rounded up; equal padding on all sides takes no copy."""

    def __init__(self, channels: int, outputs: int, kernel: int, stride: int, side: int) -> None:
        super().__init__()
        missing = max((-(-side // stride) - 1) * stride + kernel - side, 0)
        self.around = missing % 2 == 0
        self.kernel, self.stride = kernel, stride
        self.conv = nn.Conv2d(channels, outputs, kernel, stride, padding=missing // 2 if self.around else 0)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, S, S) → (B, O, S', S')."""
        return self.conv(x if self.around else same(x, self.kernel, self.stride, 0.0))


class Block(nn.Module):
    """A residual block."""

    def __init__(self, channels: int, side: int) -> None:
        super().__init__()
        self.first, self.second = (SameConv(channels, channels, 3, 1, side) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """Like x."""
        return x + self.second(functional.relu(self.first(functional.relu(x))))


class Stack(nn.Module):
    """A convolution, pooling by 2, two blocks."""

    def __init__(self, channels: int, outputs: int, side: int) -> None:
        super().__init__()
        self.conv = SameConv(channels, outputs, 3, 1, side)
        self.blocks = nn.Sequential(*(Block(outputs, -(-side // 2)) for _ in range(2)))

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, S, S) → (B, O, S / 2, S / 2)."""
        return self.blocks(functional.max_pool2d(same(self.conv(x), 3, 2, -torch.inf), 3, 2))


class NoisyLinear(nn.Module):
    """A linear layer with factorised noise, drawn for each pass, the same for a whole batch.

    The noise multiplies the inputs and the outputs. Most scripts write out noisy weights instead; with millions of
    weights, this would take longer than all other work. Source: Fortunato et al. 2018, with Dopamine's deviations.
    """

    def __init__(self, inputs: int, outputs: int, sigma: float) -> None:
        super().__init__()
        self.mean, self.deviation = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs)
        for value in self.deviation.parameters():
            nn.init.constant_(value, sigma / inputs**0.5)

    def forward(self, x: Tensor) -> Tensor:
        """(B, I) → (B, O)."""
        by_input, by_output = (self.drawn(count, x.device) for count in (self.mean.in_features, self.mean.out_features))
        return self.mean(x) + self.deviation(x * by_input) * by_output

    @staticmethod
    def drawn(count: int, device: torch.device) -> Tensor:
        """f of normal numbers, f(z) = sign(z) √|z|."""
        drawn = torch.randn(count, device=device)
        return drawn.sign() * drawn.abs().sqrt()


def encoder(network: str, channels: int, side: int) -> tuple[nn.Sequential, int]:
    """The layers before the dense ones, and the number of their outputs."""
    layers: list[nn.Module] = []
    if network == "nature":
        for outputs, kernel, stride in CONVOLUTIONS:
            layers += [SameConv(channels, outputs, kernel, stride, side), nn.ReLU()]
            channels, side = outputs, -(-side // stride)
    else:
        for outputs in STACKS[network]:
            layers.append(Stack(channels, outputs, side))
            channels, side = outputs, -(-side // 2)
        layers.append(nn.ReLU())
    return nn.Sequential(*layers, nn.Flatten()), channels * side**2


class Distributions(nn.Module):
    """Pixels as bytes → the logarithms of the probabilities of every action's atoms (B, A, Z), dueling and noisy."""

    def __init__(self, network: str, shape: tuple[int, ...], actions: int, atoms: int, sigma: float) -> None:
        super().__init__()
        self.actions, self.atoms, hidden = actions, atoms, HIDDEN[network]
        self.encoder, left = encoder(network, shape[0], shape[1])
        self.hidden = NoisyLinear(left, hidden, sigma)
        self.value, self.advantage = (NoisyLinear(hidden, count * atoms, sigma) for count in (1, actions))

    def forward(self, pixels: Tensor) -> Tensor:
        """(B, C, S, S) uint8."""
        h = functional.relu(self.hidden(self.encoder(pixels.float() / 255)))
        value = self.value(h).view(-1, 1, self.atoms)
        advantage = self.advantage(h).view(-1, self.actions, self.atoms)
        return functional.log_softmax(value + advantage - advantage.mean(dim=1, keepdim=True), dim=2)


class SumTree:
    """Priorities as the leaves of a binary tree; every other node is the sum of its two children."""

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
    """The last `capacity` steps, each with its observation and the one n steps later as stacks of frames.

    Steps are drawn by priority.
    """

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
        """Adds a step; it replaces the oldest one if the buffer is full."""
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
    """One run in one environment with pixels as observations.

    network: small_impala, nature or impala. tuned: channels last in memory, and Adam's fused form. history: steps that
    are acted before the first update. sigma: the noise's initial deviations, times √inputs.
    """

    def __init__(
        self, body: Body, network: str, capacity: int, history: int, tuned: bool = False, seed: int = 0,
        sigma: float = SIGMA, device: str = "cpu",
    ) -> None:  # fmt: skip
        torch.manual_seed(seed)  # noqa: TID251 (a separate script, which seeds as such scripts do)
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
        """`updates` updates, each after four steps of the environment."""
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
        """A step of the environment; steps with a complete n-step return go into the buffer."""
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
        """Moves the oldest of the last steps into the buffer, with its discounted return over them."""
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
        """The target distributions, (B, Z).  Source: Bellemare et al. 2017, algorithm 1."""
        best = self.values(self.network(following := self.laid(batch["following"]))).argmax(dim=1)
        then = self.target(following)[every, best].exp()
        moved = batch["returns"].unsqueeze(1) + batch["discount"].unsqueeze(1) * self.support
        place = (moved.clamp(LOW, HIGH) - LOW) / ((HIGH - LOW) / (ATOMS - 1))
        below = place.floor().clamp(0, ATOMS - 2)
        share, at = place - below, below.long()
        target = torch.zeros_like(then)
        return target.scatter_add_(1, at, then * (1 - share)).scatter_add_(1, at + 1, then * share)

    def values(self, logs: Tensor) -> Tensor:
        """(B, A, Z) → (B, A)."""
        return (logs.exp() * self.support).sum(dim=2)

    def laid(self, images: Tensor) -> Tensor:
        """Images, or a convolution's weights, as they are to lie in memory."""
        return images.contiguous(memory_format=self.layout)
