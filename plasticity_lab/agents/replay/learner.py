"""The learner for groups of classes: arriving images, together with images of earlier tasks.

Legend: K runs, S steps, N training images of a task, M images in the memory, R images replayed at a step, D pixels, E
    images at a time, O classes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.replay.tables import Indices, MixedTables
from plasticity_lab.agents.supervised.images import Pixels, laid_out
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.agents.supervised.score import indices
from plasticity_lab.agents.supervised.tables import DrawnByEpoch, transition_rows
from plasticity_lab.agents.update import SECOND, takes_second
from plasticity_lab.benchmarks.labelled.stream import CHUNK_STEPS, Chunk, Task
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.rows import Evaluation


class GroupsLearner(SupervisedLearner):
    """The supervised learner with the whole training set on the device; tasks and memory are indices into it.

    memory, per_task: maximum number of remembered images, in total and for a task.
    replayed: number of images drawn from the memory for each step; 0 for none.
    A task's memory contains images of earlier tasks, and does not change within the task.
    """

    evaluates_by = "linear"

    def __init__(
        self,
        parts: Parts,
        model: Model,
        image_set: ImageSet,
        device: torch.device,
        compiled: bool,
        memory: int = 0,
        per_task: int = 0,
        replayed: int = 0,
        max_norm: float | None = None,
    ) -> None:
        super().__init__(parts, model, image_set, device, compiled, max_norm)
        self.benchmark, self.own_seeds = parts.benchmark, parts.init_seeds
        self.memory, self.per_task, self.replayed = memory, per_task, replayed
        scores = scores_of(model, self.pixels)
        self.score = Compiled(scores, ("scores of groups", *self.same), reads=range(8)) if compiled else scores
        rows = min(CHUNK_STEPS, self.benchmark.max_batches)
        self.tables = MixedTables(rows, self.runs, self.benchmark.batch_size, replayed, device)
        flat = np.ascontiguousarray(image_set.train_images).reshape(1, len(image_set.train_labels), -1)
        self.images = torch.from_numpy(self.pixels.as_they_lie(flat)).to(device)  # (1, all, D)
        # For the current task: indices of its images in the set, and the memory.
        self.images_KN = self.earlier_KN = self.memory_KM = np.zeros((self.runs, 0), np.int64)
        self.replays, self.second_replays = (
            DrawnByEpoch(self.benchmark, partial(self._drawn_replays, purpose))
            for purpose in ("replay", "second replay")
        )

    def begin(self, task: Task, fresh: bool) -> None:
        """Finds the task's images in the set, and the memory of earlier tasks."""
        self.task = task
        self.images_KN = np.stack([lesson.images for lesson in task.lessons])
        self.labels = torch.from_numpy(self.image_set.train_labels[self.images_KN]).to(self.device)
        self.earlier_KN = np.stack([lesson.images for lesson in task.earlier or task.lessons])
        self.memory_KM = self._memory(task.position)
        self.network.expect(task.benchmark.steps_of(task.position), task.benchmark.total_steps)
        if fresh:
            self.network.begin_task(task.position, self._coming(task))

    def _batch(self, at_KB: Tensor) -> tuple[Tensor, Tensor]:
        """New images of the task by each run's indices, without images of the memory: floats (K, B, D), labels."""
        images_KN = torch.from_numpy(self.images_KN).to(self.device)
        return self.pixels.scaled(self.images[0][torch.gather(images_KN, 1, at_KB)]), torch.gather(
            self.labels, 1, at_KB
        )

    def _scored(self, task: Task, parameters: Mapping[str, Tensor], factor: Tensor | None = None) -> Evaluation:
        """Accuracies of some parameters on the task's held-out images in evaluation mode, (K,).

        final_accuracy: accuracy among all classes.
        masked_accuracy: accuracy among the classes of the task's group.
        """
        (given, total), more = self._given_to_score(task, parameters), () if factor is None else (factor,)
        right = sum(self.score(*given, at, there, *more) for at, there in indices(total, self.device))
        among_all, among_own = right.cpu().numpy() / total
        return {"final_accuracy": among_all, "masked_accuracy": among_own}

    def _given_to_score(self, task: Task, parameters: Mapping[str, Tensor]) -> tuple[Sequence[Any], int]:
        order, activation = self.pixels.order, self.network.settings["activation"]
        images, labels = laid_out(self.image_set, task.lessons, self.device, held_out=True, order=order)
        return (parameters, activation, images, labels, self._own_classes(task)), labels.shape[1]

    def _tables(self, chunk: Chunk, corrections: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        if takes_second(self.network.intervention):
            second = replace(chunk, images=self.second.of(chunk))
            drawn = second, self.images_KN, self.second_replays.of(chunk)
            corrections = {**corrections, SECOND: self.tables.on_device(self.tables.indices(*drawn))}
        if chunk.shares is not None:
            before = replace(chunk, images=chunk.images % self.earlier_KN.shape[1])
            earlier_KSB = self.tables.indices(before, self.earlier_KN, self.replays.of(chunk))
            labels_KSB = self.image_set.train_labels[earlier_KSB]
            rows = transition_rows(chunk.shares, earlier_KSB, labels_KSB, self.device)
            corrections = {**corrections, **rows}
        return self.tables.mixed(
            chunk, self.images_KN, self.replays.of(chunk), self.image_set.train_labels, corrections
        )

    def _earlier_images(self) -> Tensor:
        """All images of the set: the tables have indices into it."""
        return self.images.flatten(0, 1)

    def _memory(self, position: int) -> NDArray[np.int64]:
        """Each run's memory at the beginning of the task at that position, (K, M)."""
        if not self.replayed:
            return np.zeros((self.runs, 0), np.int64)
        tasks = [
            [self.benchmark.lesson(self.image_set, seed, earlier).images for seed in self.stream_seeds]
            for earlier in range(position)
        ]
        return remembered(tasks, self.memory, self.per_task, self.own_seeds)

    def _drawn_replays(self, purpose: str, chunk: Chunk, batches: int) -> NDArray[np.int64]:
        """The images of the memory that the steps of the chunk's epoch replay, (K, batches, R)."""
        there = self.memory_KM.shape[1]
        draws = [
            memory[drawn(there, self.replayed, batches, host_stream(seed, purpose, chunk.epoch))]
            for seed, memory in zip(self.own_seeds, self.memory_KM, strict=True)
        ]
        return np.stack(draws)

    def _own_classes(self, task: Task) -> Tensor:
        """Whether each class is in the task's group, (K, O)."""
        own = np.zeros((self.runs, self.benchmark.outputs(self.image_set)), bool)
        for row, seed in zip(own, self.stream_seeds, strict=True):
            row[self.benchmark.classes_of(seed, task.position, self.image_set.classes)] = True
        return torch.from_numpy(own).to(self.device)

    def _examples(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Some of the current task's training images, without replayed ones: (K, E, D) floats and labels (K, E)."""
        where_KE, flat = torch.from_numpy(self.images_KN).to(self.device)[:, at], self.images[0]
        x_KED = self.pixels.scaled(flat.index_select(0, where_KE.flatten())).view(*where_KE.shape, -1)
        return x_KED, self.labels[:, at]


# Number of held-out images that a pack classifies correctly, among all classes and among the task's classes.
#
# Legend: K runs, N images, D pixels, E images at a time, O classes.

Scores = Callable[..., Tensor]


def scores_of(model: Model, pixels: Pixels) -> Scores:
    """Both scores in evaluation mode, as a function of tensors alone.

    Its arguments are the same as for `supervised.score.score_of`, with own (K, O) between labels and `at`: whether each
    class is the task's. Returns the number of correct images, (2, K) int64: by the largest of all outputs, and by the
    largest output of the task's classes.
    """

    def scores(
        parameters: Mapping[str, Tensor],
        shape: Mapping[str, Tensor],
        images_KND: Tensor,
        labels_KN: Tensor,
        own_KO: Tensor,
        at: Tensor,
        there: Tensor,
        factor: Tensor | None = None,
    ) -> Tensor:
        x_KED = pixels.scaled(images_KND.index_select(1, at)).expand(labels_KN.shape[0], -1, -1)
        logits_KEO = model.forward(parameters, shape, x_KED, None, factor=factor)[0]["logits"]
        within_KEO = logits_KEO.masked_fill(~own_KO.unsqueeze(1), -torch.inf)
        labels_KE = labels_KN.index_select(1, at)
        right = [(logits.argmax(dim=-1) == labels_KE) & there for logits in (logits_KEO, within_KEO)]
        return torch.stack(right).sum(dim=2)

    return scores


# The memory of earlier tasks, and draws from it: functions of seeds and positions, so that nothing is saved.
#
# Legend: K runs, T tasks, N images of a task, M images in the memory, S steps, R images replayed at a step.


def shares(sizes: Sequence[int], memory: int, per_task: int) -> list[int]:
    """Number of remembered images of each task after these tasks. sizes: number of images of each task.

    Shares are equal and use the whole memory; a remainder goes to the earliest tasks, one image each. A share is never
    larger than `per_task`, and all shares together are never larger than `memory`.
    """
    each, left = divmod(memory, len(sizes))
    return [min(size, per_task, each + (task < left)) for task, size in enumerate(sizes)]


def remembered(tasks: Sequence[Sequence[Indices]], memory: int, per_task: int, seeds: Sequence[int]) -> Indices:
    """The memory of every run after some tasks, (K, M). tasks: for each task the images of each run, (N,).

    A task's images are shuffled once, and the first ones are remembered. If the share of a task shrinks, the remaining
    images are therefore a subset of the earlier ones.
    seeds: one per run.
    """
    if not tasks:
        return np.zeros((len(seeds), 0), np.int64)
    sizes = [len(of_runs[0]) for of_runs in tasks]
    held = shares(sizes, memory, per_task)
    runs = [
        [
            images[host_stream(seed, "memory", task).permutation(len(images))[:share]]
            for task, (images, share) in enumerate(zip(of_run, held, strict=True))
        ]
        for seed, of_run in zip(seeds, zip(*tasks, strict=True), strict=True)
    ]
    return np.stack([np.concatenate(of_run) for of_run in runs])


def drawn(there: int, replayed: int, steps: int, generator: np.random.Generator) -> Indices:
    """The images of a memory that each step replays, (S, R): R out of `there`, uniform, without replacement in a step.

    R is `replayed`, or `there` if that is smaller. Floyd's algorithm (Bentley & Floyd 1987), for all steps at once.
    """
    wanted = min(replayed, there)
    chosen = np.full((steps, wanted), -1)
    for place, last in enumerate(range(there - wanted, there)):
        image = generator.integers(0, last, steps, endpoint=True)
        taken = (chosen == image[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, last, image)
    return chosen
