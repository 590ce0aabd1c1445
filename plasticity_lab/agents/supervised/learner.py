"""The supervised agent: cross-entropy on arriving batches, one optimizer step each.

Legend: K runs, S steps, B examples of a batch, N training images of a task, M held-out images, E of them at a time,
D pixels, O classes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.agents.agent import Rows, State
from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.agents.supervised.images import Pixels, laid_out
from plasticity_lab.agents.supervised.score import indices, score_of
from plasticity_lab.agents.supervised.step import step_of
from plasticity_lab.agents.supervised.tables import Tables
from plasticity_lab.benchmarks.labelled.benchmark import Benchmark
from plasticity_lab.benchmarks.labelled.stream import CHUNK_STEPS, Chunk, Task
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.device import run_keys
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import on_run_axis


class SupervisedLearner:
    """K runs of one model, optimizer and intervention, learning from labelled images on one device.

    compiled: whether the step is one compiled graph; the numbers differ from the eager step's in their last bits.
    """

    def __init__(
        self,
        model: Model,
        optimizers: Sequence[Optimizer],
        interventions: Sequence[Intervention],
        benchmark: Benchmark,
        image_set: ImageSet,
        init_seeds: Sequence[int],
        device: torch.device,
        compiled: bool,
    ) -> None:
        self.model, self.optimizer, self.intervention = model, optimizers[0], interventions[0]
        self.image_set, self.device, self.runs = image_set, device, len(init_seeds)
        self.max_images = benchmark.max_images
        self.pixels = Pixels(image_set, benchmark.normalise, device)
        self.settings = {
            "activation": on_run_axis(model.activations, device),
            "optimizer": on_run_axis(optimizers, device, torch.float64),
            "intervention": on_run_axis(interventions, device),
        }
        step, score = step_of(model, self.optimizer, self.intervention, self.pixels), score_of(model, self.pixels)
        self.step = Compiled(step) if compiled else step
        self.score = Compiled(score) if compiled else score
        self.keys = run_keys(init_seeds, "activation", device)
        self.tables = Tables(min(CHUNK_STEPS, benchmark.max_batches), self.runs, benchmark.batch_size, device)
        self.parameters = model.start(init_seeds, device)
        self.moments = self.optimizer.start(self.parameters)
        self.intervention_state = self.intervention.start(model, self.parameters)
        self.updates = 0  # since the moments began: Adam's t
        self.images = self.labels = self.offsets = torch.empty(0)  # the task's, once it has begun

    def begin(self, task: Task) -> None:
        """Lays the task's images out on the device, (K, N, D) uint8, or (1, N, D) where all runs see the same.

        N is that of the largest task, so that a compiled step meets one shape.
        """
        images, self.labels = laid_out(self.image_set, task.lessons, self.device)
        missing = self.max_images - images.shape[1]
        self.images = torch.nn.functional.pad(images, (0, 0, 0, missing)) if missing else images
        self.offsets = torch.arange(self.runs, device=self.device) * (self.max_images if len(images) > 1 else 0)

    def advance(self, chunk: Chunk) -> Rows:
        """Takes the chunk's steps; what they measure stays on the device until its end."""
        corrections = self.optimizer.corrections(self.settings["optimizer"], self.updates + 1, chunk.steps)
        tables = self.tables.of(chunk, self.labels.expand(self.runs, -1), self.offsets, corrections)
        for at in self.tables.at[: chunk.steps]:
            self.intervention_state = self.step(
                self.parameters, self.moments, self.intervention_state, self.settings, self.keys,
                self.images.flatten(0, 1), tables, self.tables.measured, at,
            )  # fmt: skip
        self.updates += chunk.steps
        return self.tables.rows_of(chunk)

    def evaluate(self, task: Task) -> Rows:
        """Accuracy on the held-out images in evaluation mode; then the intervention and the optimizer end the task."""
        images, labels = laid_out(self.image_set, task.lessons, self.device, held_out=True)
        total = labels.shape[1]
        right = sum(
            self.score(self.parameters, self.settings["activation"], images, labels, at, there)
            for at, there in indices(total, self.device)
        )
        self.intervention_state = self.intervention.after_task(
            self.model, self.parameters, self._seen, self.settings["intervention"], self.intervention_state
        )
        if self.optimizer.reset == "task":
            self.moments, self.updates = self.optimizer.start(self.parameters), 0
        return {"final_accuracy": right.cpu().numpy() / total}

    def state(self) -> State:
        """Parameters, moments, the intervention's state, and the optimizer's count. Its tensors are the agent's own."""
        return {
            "parameters": dict(self.parameters),
            "moments": {moment: dict(values) for moment, values in self.moments.items()},
            "intervention": dict(self.intervention_state),
            "updates": self.updates,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Goes back to a state that `state` gave, in this process or an earlier one, and leaves it untouched."""
        self.parameters = self._copied(state["parameters"])
        self.moments = {moment: self._copied(values) for moment, values in state["moments"].items()}
        self.intervention_state = self._copied(state["intervention"])
        self.updates = state["updates"]

    def weights(self) -> dict[str, Tensor]:
        """The parameters on the host, name → (K, ...)."""
        return {name: value.detach().cpu() for name, value in self.parameters.items()}

    def _copied(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: value.to(self.device, copy=True) for name, value in values.items()}

    def _seen(self) -> Iterable[tuple[Tensor, Tensor]]:
        """The current task's training images as an intervention wants them: (K, E, D) floats and labels (K, E)."""
        for at, there in indices(self.labels.shape[1], self.device):
            x_KED = self.pixels.scaled(self.images[:, at[there]]).expand(self.runs, -1, -1)
            yield x_KED, self.labels[:, at[there]].expand(self.runs, -1)
