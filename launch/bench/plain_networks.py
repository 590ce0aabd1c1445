"""The networks of the plain Rainbow, as nn.Module: the same layers as network=small_impala, nature and impala have.

Legend: C channels, S pixels of an image's side.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

HIDDEN = {"small_impala": 128, "nature": 512, "impala": 512}
STACKS = {"small_impala": (16,), "impala": (16, 32, 32)}
CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""Of nature: channels, kernel, stride."""


def same(x: Tensor, size: int, stride: int, value: float) -> Tensor:
    """Square images with as much around them as JAX's padding SAME lays: half before, an odd pixel behind."""
    side = x.shape[-1]
    missing = max((-(-side // stride) - 1) * stride + size - side, 0)
    before, behind = missing // 2, missing - missing // 2
    return functional.pad(x, (before, behind, before, behind), value=value) if missing else x


class SameConv(nn.Module):
    """A convolution that leaves S / stride pixels of a side, rounded up; zeros alike on all sides take no copy."""

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
    """A linear layer with factorised noise, drawn anew for each pass, the same for all of a batch.

    The noise is laid on what goes in and what comes out: noisy weights, which most scripts write out, would take longer
    than all else where there are millions. Source: Fortunato et al. 2018, with Dopamine's deviations.
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
    """What stands before the dense layers, and how many numbers it leaves."""
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
