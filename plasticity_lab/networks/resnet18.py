"""The residual network with 18 layers for small labelled images."""

from typing import Any

from plasticity_lab.component import check
from plasticity_lab.networks.traced import Steps, Traced

STAGES = 4
BLOCKS = 2
"""Residual blocks of a stage."""


class ResNet18(Traced):
    """A convolution 3 × 3 (`stem`), four stages of two residual blocks, the mean of each channel, and the outputs.

    A block: convolution 3 × 3, `norm`, activation, convolution 3 × 3, `norm`; its sum with the shortcut; activation.
    The shortcut is the block's input. In the first block of stages 2 to 4, the first convolution has twice the channels
    and a stride of 2, and the shortcut is a convolution 1 × 1 of this stride, and `norm`. width: channels of the first
    stage. Layers are called stem, stage1.block1.conv1, …conv2, stage2.block1.shortcut, ….

    Source: He et al. 2016; stem without pooling for images of 32 × 32 pixels as in Lee et al. 2024 and Han et al. 2026,
    with 64, 128, 256 and 512 channels. Unlike there, convolutions have biases.
    """

    called = "resnet18"

    def __init__(self, width: int = 64, init: str = "default", norm: str = "batch") -> None:
        self.width = check("network.width", width, at_least=1)
        super().__init__([], init, norm)

    def features(self, steps: Steps, x: Any) -> Any:
        """An image → the mean of each channel of the last stage."""
        x = steps.activate(steps.conv("stem", x, self.width, 3))
        for stage in range(1, STAGES + 1):
            for block in range(1, BLOCKS + 1):
                halves = stage > 1 and block == 1
                x = self._block(steps, f"stage{stage}.block{block}", x, self.width * 2 ** (stage - 1), halves)
        return steps.mean_pool(x)

    def _block(self, steps: Steps, name: str, x: Any, channels: int, halves: bool) -> Any:
        stride = 2 if halves else 1
        h = steps.activate(steps.conv(f"{name}.conv1", x, channels, 3, stride, "centred"))
        h = steps.conv(f"{name}.conv2", h, channels, 3)
        shortcut = steps.conv(f"{name}.shortcut", x, channels, 1, stride) if halves else x
        return steps.activate(shortcut + h)
