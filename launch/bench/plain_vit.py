"""A vision transformer as people write it, for images of 32 × 32 pixels: torch's modules and torch's attention."""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

PIXELS, PATCH = 32, 4


class Block(nn.Module):
    """Attention, then a hidden layer of four times the width, each behind a normalisation and added to its input."""

    def __init__(self, activation: nn.Module, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.activation = heads, activation
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.attended = (nn.Linear(width, width) for _ in range(4))
        self.hidden, self.output = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, N, D) → like x."""
        h = self.norm1(x)
        tables = (of(h).unflatten(2, (self.heads, -1)).transpose(1, 2) for of in (self.query, self.key, self.value))
        x = x + self.attended(scaled_dot_product_attention(*tables).transpose(1, 2).flatten(2))
        return x + self.output(self.activation(self.hidden(self.norm2(x))))


class PlainViT(nn.Module):
    """Dosovitskiy et al. 2021."""

    def __init__(self, activation: nn.Module, classes: int, width: int, depth: int, heads: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, PATCH, PATCH)
        self.tokens = nn.Parameter(torch.zeros(1 + (PIXELS // PATCH) ** 2, width))
        self.blocks = nn.Sequential(*(Block(activation, width, heads) for _ in range(depth)))
        self.norm, self.output = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Images (B, 3, 32, 32) → logits."""
        patches = self.patches(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([torch.zeros_like(patches[:, :1]), patches], dim=1) + self.tokens
        return self.output(self.norm(self.blocks(tokens)[:, 0]))
