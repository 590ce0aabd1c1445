"""What every contender computes: one network on the same made-up images, with the same first weights and batches.

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
from plasticity_lab.agents.supervised.learner import SupervisedLearner, model_of
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
"""Its strength where a workload has L2-Init: that of its class."""
HELD_OUT = 1_000


@dataclass(frozen=True)
class Data:
    """A pack's share: images (K, N, D) uint8, labels (K, N), batches (K, S, B) of indices, and first weights.

    layers: in their order, name → weight (K, I, O) and bias (K, O), without the engine's padding. A convolution's I are
    the numbers of a patch, channel by channel, row by row. slope: where one is learned, as it starts, (K,).
    """

    images: Tensor
    labels: Tensor
    batches: np.ndarray
    layers: dict[str, tuple[Tensor, Tensor]]
    slope: Tensor | None


@dataclass(frozen=True)
class Workload:
    """One task of permuted pixels, as long as one burst.

    Raises ConfigError for a network, activation or intervention not here.
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
    def burst(self) -> int:
        """Steps of one burst."""
        return self.setting.steps if self.steps is None else self.steps

    def runs(self, width: int, tasks: int = 1, eval_images: int | None = None) -> list[Run]:
        """A run for each of `width` seeds.  eval_images: how many held-out images are evaluated; None for all."""
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
            "network": {"name": self.network},
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
        """What one run costs."""
        parts = parts_of(self.runs(1))
        return cost_of(parts, model_of(parts, self.image_set), self.image_set)

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
        """What the runs of a pack so wide learn from, for those who have no engine."""
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
        }
        slope = start["activation.slope"][:, 0] if "activation.slope" in start else None
        return Data(images.expand(width, -1, -1), labels, chunk.images, layers, slope)


def made_up(image: Sequence[int], classes: int, count: int, brightness: int) -> ImageSet:
    """Images that can be learned: a picture of each class under noise, what is below 0 of it black."""
    draw = host_stream(0, "made-up images")
    pictures = draw.normal(brightness, 130, (classes, *image)).astype(np.float32)

    def some(many: int) -> tuple[np.ndarray, np.ndarray]:
        labels = draw.integers(0, classes, many)
        noisy = pictures[labels] + 60 * draw.standard_normal((many, *image), dtype=np.float32)
        return noisy.clip(0, WHITE).astype(np.uint8), labels

    return ImageSet("made_up", *some(count), *some(HELD_OUT), classes=classes, white=WHITE)


# The workloads by which a device is measured for classifiers, and the packed engine as one that can be timed.


class Packed:
    """A pack of `width` runs at its first task; a burst is one chunk, tables and measurements included.

    updates: of each run in a burst; run_steps: of all of them.
    """

    def __init__(self, workload: Workload, width: int, mode: str, device: str) -> None:
        runs, own = workload.runs(width), mode == "kernels"
        stream, self.learner = workload.assembled(runs, torch.device(device), mode == "compiled" or own, own)
        self.task, self.chunk = workload.first_task(stream)
        self.learner.begin(self.task, fresh=True)
        self.updates = self.chunk.steps
        self.run_steps = width * self.updates

    def burst(self) -> Rows:
        """The chunk's steps: "loss" and "accuracy", (S, K).  On a GPU it returns when all is computed."""
        return self.learner.advance(self.chunk)


@dataclass(frozen=True)
class WorkloadYardstick:
    """A workload under the name by which plans know it (see `agents.cost.Yardstick`)."""

    name: str
    workload: Workload

    @property
    def description(self) -> str:
        """The network."""
        return self.workload.network

    @property
    def cost(self) -> Cost:
        """Of one run."""
        return self.workload.cost

    @property
    def widths(self) -> Mapping[str, Sequence[int]]:
        """Those of the network's setting."""
        return self.workload.setting.widths

    def shortened(self, updates: int) -> "WorkloadYardstick":
        """With fewer images: a task is one burst."""
        return WorkloadYardstick(self.name, replace(self.workload, steps=updates))

    def pack(self, width: int, mode: str, device: str) -> Packed:
        """The packed engine."""
        return Packed(self.workload, width, mode, device)

    def peak(self, width: int, device: str) -> None:
        """A chunk, and the evaluation of its task."""
        pack = self.pack(width, "eager", device)
        pack.burst()
        pack.learner.evaluate(pack.task)


YARDSTICKS = (WorkloadYardstick("dense", Workload("mlp")), WorkloadYardstick("convolving", Workload("cnn")))
"""Networks of matrix products alone, and those with convolutions."""
