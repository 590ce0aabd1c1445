"""The perturbation's factors on pre-activations, epoch by epoch, and its measurements.

Legend: K runs, S steps.
"""

from dataclasses import replace

import torch
from torch import Tensor

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.benchmarks.labelled.stream import Chunk
from plasticity_lab.diagnostics.view import Tensors, View
from plasticity_lab.perturbations.perturbation import Perturbation

FACTOR = "factor"
"""The name of the factors in a chunk's tables, and of a step's factor in its batch."""


class Perturbed:
    """A perturbation of runs of one benchmark.

    task, epoch: task and epoch of the last chunk, counting epochs from 1 within the task. Each chunk sets both.
    """

    def __init__(self, perturbation: Perturbation, benchmark: LabelledBenchmark, device: torch.device) -> None:
        self.perturbation, self.benchmark, self.device = perturbation, benchmark, device
        self.task = self.epoch = 0

    def rows(self, chunk: Chunk) -> dict[str, Tensor]:
        """The additional table of a chunk: the factor of each step, (S,)."""
        self.task, self.epoch = chunk.task, chunk.epoch - self.benchmark.epochs_before(chunk.task) + 1
        return {FACTOR: torch.full((chunk.steps,), self._factor(self.task, self.epoch) or 1.0, device=self.device)}

    def evaluation(self, task: int, epoch: int | None = None) -> Tensor | None:
        """The factor of an evaluation at the end of an epoch of a task, (); None if evaluations are not perturbed.

        epoch: by default the task's last one.
        """
        epoch = self.benchmark.epochs_of(task) if epoch is None else epoch
        factor = self._factor(task, epoch) if self.perturbation.in_evaluation else None
        return None if factor is None else torch.tensor(factor, device=self.device)

    def look(self, view: View, accuracy: Tensors) -> Tensors:
        """The perturbation's measurements at the end of the last chunk's epoch, name → (K,).

        view: the view of the network.
        accuracy: on the task's held-out images, by name, (K,).
        """
        factor = self._factor(self.task, self.epoch)
        return self.perturbation.look(self.seen(view), accuracy, factor)

    def seen(self, view: View) -> View:
        """The view with the factor of the last chunk's epoch."""
        factor = self._factor(self.task, self.epoch)
        return view if factor is None else replace(view, factor=torch.tensor(factor, device=self.device))

    def _factor(self, task: int, epoch: int) -> float | None:
        if not epoch:  # nothing has been learned yet
            return None
        benchmark, count = self.benchmark, self.perturbation.count
        before = benchmark.total_before(task, lambda earlier: count(benchmark.epochs_of(earlier)))
        return self.perturbation.factor(epoch, before)
