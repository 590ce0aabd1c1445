"""A benchmark and a network with a setting annotated `float`, planted on a search path as a user's own would be."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from plasticity_lab.benchmarks.labelled.permuted_pixels import PermutedPixels
from plasticity_lab.networks.mlp import MLP


class Turned(PermutedPixels):
    """Permuted pixels, each moved on by as many places as `degrees` says."""

    def __init__(self, source: str, tasks: int, degrees: float) -> None:
        super().__init__(source, images=200, tasks=tasks, epochs=1, steps=None, batch_size=16)
        self.degrees = degrees

    def lesson(self, image_set, seed, position):
        lesson = super().lesson(image_set, seed, position)
        return replace(lesson, pixels=np.roll(lesson.pixels, round(self.degrees)))


class Scaled(MLP):
    """The MLP, its logits multiplied by `scale`."""

    def __init__(self, scale: float) -> None:
        super().__init__(width=8)
        self.scale = scale

    def forward(self, design, parameters, x_KBD, activate, body):
        outputs = super().forward(design, parameters, x_KBD, activate, body)
        return {name: self.scale * value for name, value in outputs.items()}


def planted(folder: Path) -> str:
    """Makes the choices benchmark=turned and network=scaled in a folder; the word that finds them."""
    choices = {
        "benchmark/turned": "_target_: tests.helpers.float_settings.Turned\nsource: digits\ntasks: 2\ndegrees: 0.0\n"
        "default_network: mlp\ndefault_agent: supervised\n",
        "network/scaled": "_target_: tests.helpers.float_settings.Scaled\nscale: 1.0\n",
    }
    for name, content in choices.items():
        file = folder / "planted" / f"{name}.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(content)
    return f"hydra.searchpath=[file://{folder / 'planted'}]"
