"""ResNet-18 for small images as people write it: torch's convolutions and torch's batch normalisation."""

from torch import Tensor, nn


class Block(nn.Module):
    """Two convolutions 3 × 3, added to the input, or to a convolution 1 × 1 of it if its size changes."""

    def __init__(self, activation: nn.Module, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        self.activation = activation
        self.conv1 = nn.Sequential(nn.Conv2d(inputs, channels, 3, stride, 1), nn.BatchNorm2d(channels))
        self.conv2 = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1), nn.BatchNorm2d(channels))
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, channels, 1, stride), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        """x (B, C, H, W) → (B, channels, H / stride, W / stride)."""
        return self.activation(self.conv2(self.activation(self.conv1(x))) + self.shortcut(x))


class PlainResNet18(nn.Module):
    """He et al. 2016, with a first convolution of 3 × 3 and no pooling behind it."""

    def __init__(self, activation: nn.Module, classes: int, width: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1), nn.BatchNorm2d(width), activation)
        blocks, inputs = list[nn.Module](), width
        for stage in range(4):
            for first in (True, False):
                blocks.append(Block(activation, inputs, width * 2**stage, 2 if first and stage else 1))
                inputs = width * 2**stage
        self.blocks = nn.Sequential(*blocks)
        self.output = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Images (B, 3, H, W) → logits."""
        return self.output(self.blocks(self.stem(x)).mean(dim=(2, 3)))
