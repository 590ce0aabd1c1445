"""The timed workloads of classifiers: one network on made-up images, with fixed initial weights and batches.

Legend: K runs, N images, D pixels (C·H·W), S steps, B examples of a batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.agents.cost import Cost
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.agents.supervised.cost import cost_of
from plasticity_lab.agents.supervised.images import laid_out
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.agents.supervised.step import model_of
from plasticity_lab.agents.supervised.workload_settings import ACTIVATIONS, INTERVENTIONS, RARE, SETTINGS, Setting
from plasticity_lab.benchmarks.labelled.permuted_pixels import PermutedPixels
from plasticity_lab.benchmarks.labelled.stream import Chunk, Stream, Task
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.rows import Position, Rows
from plasticity_lab.run import Run

WHITE = 255
LEARNING_RATE = 1e-3
L2_INIT = 1e-3
"""Strength of L2-Init in a workload with L2-Init: the default of its class."""
HELD_OUT = 1_000


@dataclass(frozen=True)
class Data:
    """A pack's data: images (K, N, D) uint8, labels (K, N), batches (K, S, B) of indices, and initial weights.

    layers: name → weight (K, I, O) and bias (K, O), from first to last, without the engine's padding. For a
        convolution, I counts the numbers of a patch, channel by channel, row by row.
    slope: the initial slope of a learned activation, (K,); None if the activation is not learned.
    tokens: the first tokens of a transformer, (K, N, D); None for other networks.
    """

    images: Tensor
    labels: Tensor
    batches: np.ndarray
    layers: dict[str, tuple[Tensor, Tensor]]
    slope: Tensor | None
    tokens: Tensor | None


@dataclass(frozen=True)
class Workload:
    """One task of permuted pixels with the length of one burst.

    Raises ConfigError for an unknown network, activation or intervention.
    """

    network: str = "mlp"
    activation: str = "relu"
    intervention: str = "none"
    steps: int | None = None

    def __post_init__(self) -> None:
        for what, name, known in (
            ("network", self.network, SETTINGS),
            ("activation", self.activation, ACTIVATIONS),
            ("intervention", self.intervention, INTERVENTIONS),
        ):
            if name not in known:
                raise ConfigError(f"{what} {name} is not measured; there are {', '.join(known)}.")

    @property
    def setting(self) -> Setting:
        """The network's shapes."""
        return SETTINGS[self.network]

    @property
    def name(self) -> str:
        """The name in plans (see `agents.cost.Yardstick`)."""
        return self.setting.yardstick

    @property
    def description(self) -> str:
        """The network's name."""
        return self.network

    @property
    def widths(self) -> Mapping[str, Sequence[int]]:
        """The pack widths in the network's setting."""
        return self.setting.widths

    @property
    def burst(self) -> int:
        """Steps of one burst."""
        return self.setting.steps if self.steps is None else self.steps

    def runs(self, width: int, tasks: int = 1, eval_images: int | None = None) -> list[Run]:
        """A run for each of `width` seeds. eval_images: number of held-out images to evaluate; None for all."""
        science: dict[str, Any] = {
            "activation": {"name": self.activation},
            "benchmark": {
                "name": "permuted_made_up",
                "source": "made_up",
                "images": self.burst * self.setting.batch_size,
                "tasks": tasks,
                "epochs": 1,
                "steps": None,
                "batch_size": self.setting.batch_size,
                "eval_images": eval_images,
            },
            "network": {"name": self.network, **self.setting.options},
            "optimizer": {"name": "adam", "lr": LEARNING_RATE},
            "intervention": {"name": self.intervention} | ({"every": self.burst} if self.intervention in RARE else {}),
            "agent": {"name": "supervised"},
        }
        targets = {
            "activation": f"plasticity_lab.activations.{ACTIVATIONS[self.activation]}",
            "benchmark": "plasticity_lab.benchmarks.labelled.permuted_pixels.PermutedPixels",
            "network": self.setting.target,
            "optimizer": "plasticity_lab.stacking.adam.Adam",
            "intervention": f"plasticity_lab.interventions.{INTERVENTIONS[self.intervention]}",
            "agent": "plasticity_lab.agents.supervised.agent.Supervised",
        }
        return [Run(f"made_up_{seed}", {"seed": seed, **science}, targets) for seed in range(width)]

    @cached_property
    def image_set(self) -> ImageSet:
        """Made-up images of the benchmark's shape."""
        setting = self.setting
        return made_up(setting.image, setting.classes, self.burst * setting.batch_size, setting.brightness)

    @property
    def cost(self) -> Cost:
        """The cost of one run."""
        parts = parts_of(self.runs(1))
        return cost_of(parts, model_of(parts, self.image_set), self.image_set)

    def shortened(self, updates: int) -> "Workload":
        """The same workload with fewer images: a task is one burst."""
        return replace(self, steps=updates)

    def pack(self, width: int, mode: str, device: str) -> "Packed":
        """A pack of the engine."""
        return Packed(self, width, mode, device)

    def peak(self, width: int, device: str) -> None:
        """Takes a chunk and evaluates its task."""
        pack = self.pack(width, "eager", device)
        pack.burst()
        pack.learner.evaluate(pack.task)

    def assembled(
        self, runs: Sequence[Run], device: torch.device, compiled: bool, kernels: bool = False
    ) -> tuple[Stream, SupervisedLearner]:
        """The stream and the learner of a pack of its runs."""
        parts = parts_of(runs, kernels=kernels)
        stream = Stream(parts.benchmark, self.image_set, parts.stream_seeds)
        return stream, SupervisedLearner(parts, model_of(parts, self.image_set), self.image_set, device, compiled)

    def first_task(self, stream: Stream) -> tuple[Task, Chunk]:
        """The first task of a pack's stream, and its only chunk."""
        task = next(stream.tasks(after=Position(0, 0)))
        (chunk,) = task.chunks(after=Position(0, 0))
        return task, chunk

    def data(self, width: int) -> Data:
        """The data of a pack of that width, for training it without the engine."""
        runs = self.runs(width)
        settings = {key: value for key, value in runs[0].science["benchmark"].items() if key != "name"}
        task, chunk = self.first_task(Stream(PermutedPixels(**settings), self.image_set, range(width)))
        images, labels = laid_out(self.image_set, task.lessons, torch.device("cpu"))
        model = model_of(parts_of(runs), self.image_set)
        start = model.start(range(width), torch.device("cpu"))
        layers = {
            layer.name: (
                start[f"{layer.name}.weight"][..., : layer.outputs],
                start[f"{layer.name}.bias"][:, 0, : layer.outputs],
            )
            for layer in model.design.layers
            if f"{layer.name}.weight" in start
        }
        slope = start["activation.slope"][:, 0] if "activation.slope" in start else None
        return Data(images.expand(width, -1, -1), labels, chunk.images, layers, slope, start.get("tokens.value"))


def made_up(image: Sequence[int], classes: int, count: int, brightness: int) -> ImageSet:
    """Learnable images: a picture of each class with added noise; values below 0 become black."""
    draw = host_stream(0, "made-up images")
    pictures = draw.normal(brightness, 130, (classes, *image)).astype(np.float32)

    def some(many: int) -> tuple[np.ndarray, np.ndarray]:
        labels = draw.integers(0, classes, many)
        noisy = pictures[labels] + 60 * draw.standard_normal((many, *image), dtype=np.float32)
        return noisy.clip(0, WHITE).astype(np.uint8), labels

    return ImageSet("made_up", *some(count), *some(HELD_OUT), classes=classes, white=WHITE)


# The workloads to time on a device for classifiers, and a pack to time.


class Packed:
    """A pack of `width` runs at its first task; a burst is one chunk, including its tables and measurements.

    updates: updates of each run in a burst.
    run_steps: updates of all runs in a burst.
    """

    def __init__(self, workload: Workload, width: int, mode: str, device: str) -> None:
        runs, own = workload.runs(width), mode == "kernels"
        stream, self.learner = workload.assembled(runs, torch.device(device), mode == "compiled" or own, own)
        self.task, self.chunk = workload.first_task(stream)
        self.learner.begin(self.task, fresh=True)
        self.updates = self.chunk.steps
        self.run_steps = width * self.updates

    def burst(self) -> Rows:
        """Takes the chunk's steps and returns "loss" and "accuracy", (S, K). On a GPU it returns when all results are
        computed.
        """
        return self.learner.advance(self.chunk)


YARDSTICKS = (Workload("mlp"), Workload("cnn"))
"""A network with only matrix products, and one with convolutions."""
