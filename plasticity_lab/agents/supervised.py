"""The supervised agent: cross-entropy on arriving batches, one optimizer step each.

Legend: K runs, S steps, B examples of a batch, N training images of a task, M held-out images, E of them at a time,
D pixels, O classes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.agent import Rows, State
from plasticity_lab.agents.images import Pixels, laid_out
from plasticity_lab.agents.step import Step
from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.benchmarks.stream import Chunk, Task
from plasticity_lab.component import Component
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import aligned, on_run_axis

EVALUATED_AT_ONCE = 500
"""Held-out images a forward pass; a fixed number, so that a run's logits never depend on the pack's width."""


class Supervised(Component):
    """The choice of conf/agent: it has no settings. `SupervisedAgent` is what does the work."""


class SupervisedAgent:
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
        self.pixels = Pixels(image_set, benchmark.normalise, device)
        self.settings = {
            "activation": on_run_axis(model.activations, device),
            "optimizer": on_run_axis(optimizers, device, torch.float64),
            "intervention": on_run_axis(interventions, device),
        }
        self.step = Step(model, self.optimizer, self.intervention, init_seeds, device, compiled)
        self.parameters = model.start(init_seeds, device)
        self.moments = self.optimizer.start(self.parameters)
        self.intervention_state = self.intervention.start(model, self.parameters)
        self.updates = 0  # since the moments began: Adam's t
        self.images = self.labels = torch.empty(0)

    def begin(self, task: Task) -> None:
        """Lays the task's images out on the device, (K, N, D) uint8, or (1, N, D) where all runs see the same."""
        self.images, self.labels = laid_out(self.image_set, task.lessons, self.device)

    def advance(self, chunk: Chunk) -> Rows:
        """Takes the chunk's steps; the measurements stay on the device until its end."""
        batches_KSB, there_SB = _aligned_batches(chunk)
        images = torch.from_numpy(batches_KSB).to(self.device)
        labels = torch.gather(self.labels.expand(self.runs, -1), 1, images.flatten(1)).view_as(images)
        # 1/n for a batch's n examples, zero where nothing is there: a batch's loss is the mean of those that are.
        weights = torch.from_numpy((there_SB / chunk.counts[:, None]).astype(np.float32)).to(self.device)
        rows = images + torch.arange(self.runs, device=self.device).view(-1, 1, 1) * (
            self.images.shape[1] if self.images.shape[0] > 1 else 0
        )
        flat = self.images.flatten(0, 1)
        corrections = self.optimizer.corrections(self.settings["optimizer"], self.updates + 1, chunk.steps)
        measured = []
        for s in range(chunk.steps):
            x_KBD = self.pixels.scaled(flat[rows[:, s]])
            now = {name: values[s] for name, values in corrections.items()}
            loss_KB, right_KB, self.intervention_state = self.step(
                self.parameters, self.moments, self.intervention_state, self.settings, now,
                x_KBD, labels[:, s], weights[s], chunk.first + s,
            )  # fmt: skip
            measured.append((loss_KB, right_KB))
        self.updates += chunk.steps
        losses, rights = (torch.stack(parts).cpu().numpy() for parts in zip(*measured, strict=True))
        return _rows(losses, rights, there_SB)

    def evaluate(self, task: Task) -> Rows:
        """Accuracy on the held-out images in evaluation mode; then the intervention and the optimizer end the task."""
        right = torch.zeros(self.runs, dtype=torch.int64, device=self.device)
        total = 0
        for x_KED, labels_KE, there in self._held_out(task):
            logits = self.model.forward(self.parameters, self.settings["activation"], x_KED, None)[0]
            right += (logits.argmax(dim=-1) == labels_KE)[:, :there].sum(dim=1)
            total += there
        accuracy = right.cpu().numpy() / total
        self.intervention_state = self.intervention.after_task(
            self.model, self.parameters, self._seen, self.settings["intervention"], self.intervention_state
        )
        if self.optimizer.reset == "task":
            self.moments, self.updates = self.optimizer.start(self.parameters), 0
        return {"final_accuracy": accuracy}

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

    def _held_out(self, task: Task) -> Iterable[tuple[Tensor, Tensor, int]]:
        """Pixels (K, E, D), labels (K, E) and how many of the E are there; always E at a time."""
        images, labels = laid_out(self.image_set, task.lessons, self.device, held_out=True)
        yield from self._evaluation_batches(images, labels)

    def _seen(self) -> Iterable[tuple[Tensor, Tensor]]:
        """The current task's training images as an intervention wants them."""
        for x_KED, labels_KE, there in self._evaluation_batches(self.images, self.labels):
            yield x_KED[:, :there], labels_KE[:, :there]

    def _evaluation_batches(self, images: Tensor, labels: Tensor) -> Iterable[tuple[Tensor, Tensor, int]]:
        total = images.shape[1]
        size = min(EVALUATED_AT_ONCE, aligned(total))
        for start in range(0, total, size):
            there = min(size, total - start)
            index = torch.arange(start, start + size, device=self.device).clamp_(max=total - 1)
            x_KED = self.pixels.scaled(images[:, index])
            yield x_KED.expand(self.runs, -1, -1), labels[:, index].expand(self.runs, -1), there


def _aligned_batches(chunk: Chunk) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The chunk's batches (K, S, B) with B rounded up to a multiple of 4, and which of the B are there (S, B)."""
    empty = aligned(chunk.images.shape[2]) - chunk.images.shape[2]
    batches_KSB = np.pad(chunk.images, ((0, 0), (0, 0), (0, empty)))
    return batches_KSB, np.arange(batches_KSB.shape[2]) < chunk.counts[:, None]


def _rows(losses: NDArray[np.float32], rights: NDArray[np.bool_], there_SB: NDArray[np.bool_]) -> Rows:
    """Per-example measurements (S, K, B) → means over the examples that are there, (S, K).

    Taken on the host in float64: a mean inside a compiled step may differ in its last bit with the pack's width.
    """
    there, counts = there_SB[:, None, :], there_SB.sum(axis=1)[:, None]
    return {
        "accuracy": (rights & there).sum(axis=2) / counts,
        "loss": np.where(there, losses, 0).astype(np.float64).sum(axis=2) / counts,
    }
